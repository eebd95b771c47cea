"""`stet bench`: its JSON, its list, and what it refuses. What it measures is not tested: no test depends on time."""

import json
import os
import shutil

from command import double, folder, scene, stet

KEYS = {"name", "value", "unit", "better", "goal", "samples", "note"}


def refused(*words, mentions, env=None):
    done = stet("bench", *words, env=env)
    assert done.returncode == 2 and done.stdout == "", (words, done)
    assert done.stderr.startswith("stet bench: ") and done.stderr.count("\n") == 1, (words, done)
    assert mentions in done.stderr, (words, done)


def measure(*words, env=None):
    """None in a build with sanitizers, where the command must say that it is one."""
    done = stet("bench", *words, env=env)
    if "instrumented" in done.stderr:
        assert done.returncode == 2 and done.stdout == "", done
        return None
    assert done.returncode == 0 and done.stderr == "", done
    return done.stdout


def median(samples):
    low, high = sorted(samples)[(len(samples) - 1) // 2], sorted(samples)[len(samples) // 2]
    return (low + high) / 2


def test_list_names_what_there_is():
    done = stet("bench", "--list")
    assert done.returncode == 0
    names = [line.split()[0] for line in done.stdout.splitlines()]
    assert names[:5] == ["pilots", "tiles", "sim", "render", "mechanisms"] and len(set(names)) == len(names), names
    assert {"device", "launches", "start"} < set(names), names


def test_json_is_one_object_with_its_keys():
    with folder() as at:
        path = os.path.join(at, "out.json")
        printed = measure("mechanisms", "--quick", "--json", "--threads", 2, "--out", path)
        if printed is None:
            assert not os.path.exists(path)
            return
        result = json.loads(printed)
        with open(path, encoding="utf-8") as f:
            assert json.load(f) == result
    assert set(result) == {"machine", "commit", "command", "results"}
    assert result["command"].startswith("stet bench mechanisms --quick --json --threads 2")
    assert len({row["name"] for row in result["results"]}) == len(result["results"])
    for row in result["results"]:
        assert set(row) == KEYS and row["better"] in ("higher", "lower") and row["unit"], row
        assert row["samples"] and abs(row["value"] - median(row["samples"])) <= 1e-4 * abs(row["value"]), row


def test_physics_measures_a_scene_or_says_what_is_missing():
    printed = measure("physics", "--quick", "--json", "--threads", 1)
    if printed is None:
        return
    rows = {row["name"]: row for row in json.loads(printed)["results"]}
    for name in ("cartpole", "arm", "chain", "humanoid", "quadruped", "hand"):
        missing = rows.get(f"physics/{name}/missing")
        if missing:
            assert "lacks: " in missing["note"] and missing["value"] >= 1, missing
        else:
            assert rows[f"physics/{name}/cpu/one_world/ratio_to_mujoco"]["note"].endswith("NaN or faults: 0"), rows
            assert rows[f"physics/{name}/cpu/ratio_to_mujoco"]["value"] > 0
    assert "physics/cartpole/cpu/ratio_to_mujoco" in rows


def test_physics_of_a_given_scene():
    """Named by its file and by what is in it; each number of worlds with one step a call and with five."""
    words = ["physics", "--quick", "--json", "--threads", 1, "--worlds", "1,3"]
    printed = measure(*words, "--scene", scene("cartpole.xml"), "--scene", scene("hand.xml"))
    if printed is None:
        return
    rows = {row["name"]: row for row in json.loads(printed)["results"]}
    names = sorted({name.split("/")[1] for name in rows})
    assert [name.split("@")[0] for name in names] == ["cartpole.xml", "hand.xml"], names
    assert all(len(name.split("@")[1]) == 8 for name in names), names
    assert set(rows) == {f"physics/{name}/cpu/{n}/steps_{steps}/ratio_to_mujoco"
                         for name in names for n in (1, 3) for steps in (1, 5)}, rows
    assert all(row["value"] > 0 and row["note"].endswith("NaN or faults: 0") for row in rows.values()), rows
    again = measure(*words[:-1], 1, "--scene", scene("hand.xml"))
    assert {row["name"].split("/")[1] for row in json.loads(again)["results"]} == {names[1]}, again
    with folder() as at:
        printed = measure("physics", "--quick", "--json", "--threads", 1, "--device", "cuda", "--worlds", 5, "--scene",
                          scene("cartpole.xml"), env=double(at))
    assert [row["name"] for row in json.loads(printed)["results"]] == [f"physics/{names[0]}/cuda/5/step_ns"], printed
    refused("physics", "--scene", "nowhere.xml", mentions="--scene nowhere.xml: No such file")
    refused("sim", "--scene", scene("hand.xml"), mentions="only 'physics' does")


def test_physics_on_a_gpu():
    """Over the driver double: that it runs, and what it measures, not what comes out."""
    with folder() as at:
        printed = measure("physics", "--quick", "--json", "--threads", 1, "--device", "cuda", "--models",
                          "humanoid_of_capsules", "--worlds", "5,20", env=double(at))
    if printed is None:
        return
    rows = {row["name"]: row for row in json.loads(printed)["results"]}
    numbers = {f"physics/humanoid_of_capsules/cuda/{n}/step_ns" for n in (5, 20)}
    batches = {f"physics/humanoid_of_capsules/cuda/20/{what}" for what in (
        "different/ratio_to_equal", "busy/ratio_to_equal", "differ/ratio_to_equal", "room/ratio_to_less")}
    assert set(rows) == numbers | batches, rows
    assert all(len(row["samples"]) == 5 and min(row["samples"]) > 0 for row in rows.values()), rows
    assert all(rows[name]["note"].endswith("worlds with faults: 0") for name in numbers), rows
    assert rows["physics/humanoid_of_capsules/cuda/20/differ/ratio_to_equal"]["goal"] == 1.2


def test_stages_have_the_bits_of_one_kernel():
    """The command itself compares them, and fails where they differ."""
    for device in ("cpu", "cuda"):
        with folder() as at:
            printed = measure("stages", "--quick", "--json", "--threads", 1, "--device", device, "--models", "cartpole",
                              "--worlds", "5,20", env=double(at))
        if printed is None:
            return
        rows = {row["name"]: row for row in json.loads(printed)["results"]}
        expected = {f"physics/cartpole/{device}/{n}/fused_over_staged/{groups}"
                    for n in (5, 20) for groups in ("single", "one", "three", "apart")}
        assert set(rows) == expected, rows
        assert all(len(row["samples"]) == 5 and min(row["samples"]) > 0 for row in rows.values()), rows


MECHANISMS = """pose_sync hierarchy tiles deferred_tiles frame patches readback kernel_cache graph_replay fusion args
    quantities""".split()


def test_every_mechanism_has_its_rows():
    """The command itself compares the frames of all configurations, and fails where one has other bits."""
    printed = measure("mechanisms", "--quick", "--json", "--threads", 1)
    if printed is None:
        return
    rows = {row["name"]: row for row in json.loads(printed)["results"]}
    in_frames = [name for name in MECHANISMS if name not in ("kernel_cache", "quantities")]
    expected = {f"{name}/hit_ns" for name in MECHANISMS if name not in ("fusion", "patches")}  # whose hits do the work
    expected |= {"stamp/64_inputs_ns", "idle/render_us", "idle/1024_worlds/render_us"}
    expected |= {f"graph_replay/{n}_launches/singly_ns" for n in (2, 20)} | {"graph_replay/2_launches/replayed_ns"}
    expected |= {f"ablation/hand/6/{name}" for name in ("none", "all", "speedup")}
    expected |= {f"ablation/hand/6/{how}_{name}" for name in in_frames for how in ("only", "without")}
    assert expected | {"idle/launches", "idle/bytes_copied"} == set(rows), expected ^ set(rows)
    assert all(len(rows[name]["samples"]) == 15 and min(rows[name]["samples"]) > 0 for name in expected)
    assert rows["idle/launches"]["value"] == 0 and rows["idle/bytes_copied"]["value"] == 0


def frame_hashes(rows, name):
    """Of the scene that moves, and of the one that rests in every second frame; from the notes of their ratios."""
    return [rows[f"{name}{when}/full_over_naive"]["note"].split()[-1] for when in ("", "/resting")]


def test_frames_are_equal_in_all_variants():
    """The command itself compares the frames of all variants, and fails where one has other bits."""
    switched = [name for name in MECHANISMS if name not in ("kernel_cache", "quantities")] + ["kept_memory"]
    steps = "deferred_sync recording device_hierarchy one_extraction kept_memory".split()
    variants = ["naive", "plain", "full", *(f"plus_{name}" for name in steps)]
    variants += [f"without_{name}" for name in switched]
    rows_of = [f"{when}/{name}_ms" for when in ("", "/resting") for name in variants]
    rows_of += [f"{when}/full_over_{name}" for when in ("", "/resting") for name in ("naive", "plain")]
    rows_of += [f"/{when}/{name}_ms" for when in ("cold", "warm") for name in ("naive", "plain", "full")]
    rows_of.append("/memory_mb")
    seen = {}
    with folder() as at:
        gpu = double(at)
        for physics, device, env in (("native", "cpu", None), ("mujoco", "cpu", None), ("external", "cpu", None),
                                     ("external", "cuda", gpu), ("native", "cuda", gpu)):
            name = "frame/hand/5x24x16" if physics == "native" else f"frame/hand_{physics}/5x24x16"
            printed = measure("frame", "--quick", "--json", "--threads", 1, "--worlds", 5, "--size", "24x16",
                              "--physics", physics, "--device", device, env=env)
            if printed is None:
                return
            rows = {row["name"]: row for row in json.loads(printed)["results"]}
            more = ["/host_us", "/over_kernels"] if device == "cuda" else []
            if more and physics == "native":
                more += ["/captured/host_us", "/captured/over_eager"]
            expected = {name + row for row in rows_of + more}
            assert set(rows) == expected, set(rows) ^ expected
            assert all(len(row["samples"]) == (1 if "memory_mb" in row["name"] else 2) and min(row["samples"]) > 0
                       for row in rows.values())
            seen[physics, device] = frame_hashes(rows, name)
    for physics in ("external", "native"):
        assert seen[physics, "cpu"] == seen.pop((physics, "cuda")), seen
    moving, resting = zip(*seen.values())
    assert len(set(moving)) == 3 and len(set(resting)) == 3 and not set(moving) & set(resting), seen


def test_a_few_variants_of_frames_in_several_sizes():
    printed = measure("frame", "--quick", "--json", "--threads", 1, "--worlds", "2,5", "--size", "8x8,24x16", "--brief",
                      "--physics", "external", "--device", "cpu")
    if printed is None:
        return
    rows = {row["name"]: row for row in json.loads(printed)["results"]}
    kinds = [f"{when}/{name}" for when in ("", "/resting") for name in
             ("naive_ms", "plain_ms", "full_ms", "full_over_naive", "full_over_plain")] + ["/memory_mb"]
    sizes = [f"frame/hand_external/{n}x{size}" for n in (2, 5) for size in ("8x8", "24x16")]
    assert set(rows) == {size + kind for size in sizes for kind in kinds}, rows
    memory = [rows[f"{size}/memory_mb"]["value"] for size in sizes]
    assert memory[0] < memory[1] < memory[3] and memory[0] < memory[2] < memory[3], memory


def test_a_run_that_fails_leaves_what_it_has_measured():
    with folder() as at:
        path = os.path.join(at, "out.json")
        done = stet("bench", "frame", "--quick", "--brief", "--threads", 1, "--worlds", "2,2147483647", "--size", "8x8",
                    "--physics", "external", "--device", "cpu", "--out", path)
        if "instrumented" in done.stderr:
            return
        assert done.returncode == 1 and done.stdout == "" and done.stderr.startswith("stet bench: "), done
        with open(path, encoding="utf-8") as f:
            rows = [row["name"] for row in json.load(f)["results"]]
        assert "frame/hand_external/2x8x8/full_ms" in rows and all("/2x8x8/" in name for name in rows), rows


def test_rounds_run():
    """The command itself fails where a later round copies in what is there."""
    names = ("first_setup_s", "later_setup_us", "later_setup_fraction", "setup_over_copy", "round_s",
             "ratio_to_recreate", "hand/round_s", "hand/later_setup_us", "hand/ratio_to_recreate")
    with folder() as at:
        for device, env in (("cpu", None), ("cuda", double(at))):
            printed = measure("rounds", "--quick", "--json", "--threads", 1, "--device", device, env=env)
            if printed is None:
                return
            result = json.loads(printed)
            rows = {row["name"]: row for row in result["results"]}
            assert set(rows) == {f"rounds/{name}" for name in names}, rows
            goals = {name: row["goal"] for name, row in rows.items() if row["goal"] is not None}
            assert goals["rounds/later_setup_fraction"] == 0.01
            if device == "cuda":
                assert goals["rounds/setup_over_copy"] == 1.1 and goals["rounds/ratio_to_recreate"] == 20
                assert "Double" in result["machine"], result["machine"]


KERNELS = """spring_way spring_length spring_direction spring_rate spring_tension
    mass_weight mass_pull mass_contact mass_velocity mass_position""".split()


def test_fusion_runs():
    """The command itself fails where steps have other bits world by world."""
    with folder() as at:
        for device, env in (("cpu", None), ("cuda", double(at))):
            printed = measure("fusion", "--quick", "--json", "--threads", 1, "--device", device, env=env)
            if printed is None:
                return
            rows = {row["name"]: row for row in json.loads(printed)["results"]}
            assert set(rows) == {
                f"fusion/16/{name}" for name in ("step_by_launches_us", "step_fused_us", "speedup")
            }, rows
            assert all(len(row["samples"]) == 15 and min(row["samples"]) > 0 for row in rows.values())


def test_threads_run():
    printed = measure("threads", "--quick", "--json", "--threads", 2)
    if printed is None:
        return
    rows = {row["name"]: row for row in json.loads(printed)["results"]}
    works = "humanoid hand cartpole_64 cartpole_1024 cartpole_8192 render".split()
    assert set(rows) == {
        f"threads/{when}/{work}/ratio_to_one_thread" for when in ("quiet", "disturbed") for work in works
    }, rows
    assert all(len(row["samples"]) == 15 and min(row["samples"]) > 0 for row in rows.values())
    assert {row["goal"] for row in rows.values()} == {0.9, 1, 1.9}


def test_pictures_run():
    """The command itself fails where kernels that count draw other pixels, or peers see other depths."""
    done = stet("bench", "render", "--quick", "--json")
    if "instrumented" in done.stderr:
        return
    left_out = done.stderr.splitlines()  # peers that are not installed
    assert done.returncode == 0 and all(line.startswith("stet bench: render: no rows of") for line in left_out), done
    rows = {row["name"]: row for row in json.loads(done.stdout)["results"]}
    assert rows["depth/hand/ratio_to_mj_ray"]["value"] > 0, rows
    assert sum(name.startswith("curve/") for name in rows) == 6, rows
    if "what a ray costs" in done.stderr:
        return
    flops, size = ([rows[f"render/hand/{kind}/{what}_a_ray"]["value"] for kind in ("depth", "rgb")]
                   for what in ("flops", "bytes"))
    assert 10 < flops[0] < flops[1] < 1e5 and 4 <= size[0] < size[1] < 1e5, rows
    shares = [row["value"] for name, row in rows.items() if name.endswith("/share_of_flops")]
    assert len(shares) in (0, 2) and all(0 < share < 1 for share in shares), rows


def test_scale_runs():
    done = stet("bench", "scale", "--quick", "--json", "--threads", 2)
    if "instrumented" in done.stderr or "no mpirun" in done.stderr or "a build with MPI" in done.stderr:
        return
    assert done.returncode == 0 and done.stderr == "", done
    rows = {row["name"]: row for row in json.loads(done.stdout)["results"]}
    assert set(rows) == {f"scale/{what}/efficiency" for what in ("physics", "small", "frames")}, rows
    assert all(len(row["samples"]) == 1 and min(row["samples"]) > 0 for row in rows.values())


def test_adjoint_runs():
    """The command itself fails where a gradient is no number."""
    with folder() as at:
        for device, env in (("cpu", None), ("cuda", double(at))):
            printed = measure("adjoint", "--quick", "--json", "--threads", 1, "--device", device, env=env)
            if printed is None:
                return
            rows = {row["name"]: row for row in json.loads(printed)["results"]}
            expected = {
                f"adjoint/{name}"
                for name in """forward_ms forward_singly_ms backward_ms taped_over_forward
                    backward_over_forward stack_bytes_over_exact tape_mib""".split()
            }
            expected |= {
                f"adjoint/{caches}/bookkeeping_{what}"
                for caches in ("neither", "per_reduction", "both")
                for what in ("ns_per_launch", "fraction")
            }
            assert set(rows) == expected | {f"adjoint/{kernel}/backward_over_forward" for kernel in KERNELS}, rows
            assert rows["adjoint/stack_bytes_over_exact"]["value"] >= 1 and rows["adjoint/tape_mib"]["value"] > 0
            goals = {name: row["goal"] for name, row in rows.items()}
            assert (
                goals["adjoint/both/bookkeeping_ns_per_launch"] == 500
                and goals["adjoint/both/bookkeeping_fraction"] == 0.01
            )
            assert (
                goals["adjoint/mass_pull/backward_over_forward"] == 5
                and goals["adjoint/mass_contact/backward_over_forward"] == 3
            )


def test_table_has_the_same_rows():
    printed = measure("mechanisms", "--quick", "--threads", 1)
    if printed is not None:
        for name in ("idle/render_us", "args/hit_ns", "ablation/hand/6/without_frame"):
            assert name in printed, printed


def test_launches_on_a_gpu():
    """Over the driver double: that it runs, and what it measures, not what comes out."""
    with folder() as at:
        printed = measure("launches", "--quick", "--json", "--device", "cuda", env=double(at))
    if printed is None:
        return
    result = json.loads(printed)
    assert "Double" in result["machine"], result["machine"]
    rows = {row["name"]: row for row in result["results"]}
    ways = ("replayed", "replayed_without_args", "singly", "bare_graph")
    expected = {f"launch/{way}/ratio_to_bare" for way in ("unchanged", "changed", "unbound", "no_context", "upload256")}
    expected |= {f"replay/5/{of}{what}" for of in ("", "bare/") for what in ("us_per_node", "host_us_per_node")}
    expected |= {f"spring/2/{way}/step_{whose}_us" for way in ways for whose in ("host", "device")}
    expected |= {f"replay/5/{whose}ratio_to_bare" for whose in ("", "host_")}
    expected |= {f"spring/2/{way}/{whose}_ratio_to_bare_graph" for way in ways[:3] for whose in ("host", "device")}
    expected |= {"launch/bare/host_ns", "replay/branches/5/ratio_to_chain", "replay/slow_branches/5/ratio_to_chain"}
    assert expected == set(rows), expected ^ set(rows)
    assert all(len(row["samples"]) == 15 and min(row["samples"]) > 0 for row in rows.values()), rows


def test_launches_need_a_gpu():
    done = stet("bench", "launches", "--quick", "--json", "--device", "cpu")
    if "instrumented" in done.stderr:
        return
    assert done.returncode == 0 and json.loads(done.stdout)["results"] == [], done
    assert "no GPU" in done.stderr and done.stderr.count("\n") == 1, done


def test_a_recording_that_is_not_there_is_named():
    with folder() as at:
        shutil.copy(scene("hand.xml"), at)
        shutil.copytree(scene("assets"), os.path.join(at, "assets"))
        done = stet("bench", "mechanisms", "--quick", "--threads", 1, "--scenes", at)
        if "instrumented" in done.stderr:
            return
        assert done.returncode == 1 and "recordings/hand_xpos.npy" in done.stderr, done
        assert done.stderr.count("\n") == 1 and done.stdout == "", done


def test_bad_input():
    refused("nope", mentions="'nope'")
    refused("--threads", "0", mentions="--threads 0")
    refused("--threads", "4097", mentions="4096")
    refused("--threads", "2x", mentions="2x")
    refused("--threads", mentions="needs a value")
    refused("--device", "gpu", mentions="gpu")
    refused("frame", "--worlds", "64,0", mentions="64,0")
    refused("frame", "--worlds", "1,", mentions="1,")
    refused("frame", "--worlds", "1,2,3,4,5,6,7,8,9,10,11,12,13", mentions="12 whole numbers")
    refused("frame", "--size", "64", mentions="--size 64")
    refused("frame", "--size", "8x8,8x8,8x8,8x8,8x8", mentions="4 sizes")
    refused("frame", "--physics", "auto", mentions="external")
    refused("tiles", "--brief", mentions="--brief: benchmark 'tiles' does not take it")
    refused("physics", "--worlds", "64", mentions="--worlds: benchmark 'physics' does not take it")
    refused("frame", "--models", "hand", mentions="--models: benchmark 'frame' does not take it")
    refused("physics", "--models", "hand,fish", mentions="--models: there is no model 'fish'")
    refused("sim", "--device", "cuda", mentions="'sim' measures the CPU")
    refused("frame", "render", "--device", "cuda", mentions="'render' measures the CPU")
    refused("tiles", "--worlds", "64", mentions="--worlds: benchmark 'tiles' does not take it")
    refused("--frobnicate", mentions="--frobnicate")
    refused("--out", "/nowhere/at/all.json", "mechanisms", mentions="/nowhere/at/all.json")


def test_switched_off_mechanisms_are_refused():
    refused("mechanisms", mentions="", env={"STET_DISABLE": "frame"})


if __name__ == "__main__":
    from command import main

    main(globals())
