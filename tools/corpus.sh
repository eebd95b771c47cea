#!/usr/bin/env bash
# Gets the models of other projects that tools/corpus.txt lists, and says which of its sources are there.
#
#   tools/corpus.sh
#
# Packages come as wheels that are pinned with hashes: into .venv/corpus/ (tools/setup.sh corpus), or into .venv/ those
# that the tests use anyway. A source may also lie in the folder CORPUS_FOLDER, under its name; nothing is installed
# then. A snapshot of a repository is used where its folder is there already, in either.
set -u
cd "$(dirname "$0")/.." || exit 2

[ -n "${CORPUS_FOLDER:-}" ] || tools/setup.sh corpus || exit
there=(${CORPUS_FOLDER:+"$CORPUS_FOLDER"} .venv/corpus .venv/lib/python3*/site-packages)
lost=0
while read -r _ name what pin optional; do
    found=
    for folder in "${there[@]}"; do
        [ -n "$found" ] || [ ! -d "$folder/$name" ] || found=$folder/$name
    done
    if [ -n "$found" ]; then
        echo "corpus: $name: $found"
    elif [ -n "$optional" ]; then
        echo "corpus: $name is not there, and is left out; it is optional, and no package: git clone https://$what" \
            ".venv/corpus/$name && git -C .venv/corpus/$name checkout $pin"
    else
        echo "corpus: $name is not there: $what, pinned in $pin"
        lost=1
    fi
done < <(grep '^source ' tools/corpus.txt)
exit $lost
