#!/bin/bash
# A run over 4 machines of 8 GPUs, for Slurm: sbatch doc/slurm.sh. Submitted again, it goes on where it was ended, also
# on another number of machines.
#SBATCH --job-name=stet
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=8
#SBATCH --gpus-per-node=8
#SBATCH --cpus-per-task=8
#SBATCH --time=04:00:00
#SBATCH --requeue
set -eu
scene=${SCENE:-scenes/hand.xml}
state=${STATE:-$SCRATCH/stet-$SLURM_JOB_NAME.state} # in a folder that all machines see

resume=()
[ -e "$state" ] && resume=(--resume "$state")
# One process a GPU: each takes that of its number on its machine. A rank that fails ends all (srun's -K).
srun --mpi=pmix -K stet run "$scene" --worlds 131072 --until 100000 --device cuda --output none \
    --save "$state" --save-every-state 1000 "${resume[@]}"
