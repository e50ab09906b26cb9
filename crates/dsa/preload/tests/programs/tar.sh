# tar: a tree is packed, compared with the archive by tar itself, unpacked and compared again.
mkdir -p tree/inner
for number in $(seq 1 "$AMOUNT"); do
  seq "$number" $((number * 700)) > "tree/inner/$number"
done
tar --sort=name --mtime=@1 --owner=0 --group=0 --numeric-owner --blocking-factor=256 -cf tree.tar tree
sha256sum < tree.tar
tar --mtime=@1 -df tree.tar 2>&1 | grep -v 'Mod time differs'
tar -czf tree.tgz tree
mkdir unpacked
tar -xf tree.tgz -C unpacked
diff -r tree unpacked/tree && echo equal
