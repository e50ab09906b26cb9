# qemu-img: an image in three formats, each compared and checked by qemu-img itself.
seq 1 $((AMOUNT * 100000)) > raw
qemu-img resize -q -f raw raw 40M
qemu-img convert -f raw -O qcow2 -c raw packed.qcow2
qemu-img convert -f qcow2 -O vmdk packed.qcow2 copy.vmdk
qemu-img convert -f vmdk -O raw copy.vmdk again
qemu-img compare raw packed.qcow2
qemu-img compare raw copy.vmdk
qemu-img check packed.qcow2 | head -1
sha256sum < again
qemu-img bench -q -c 2000 -s 65536 -w -f raw again > /dev/null && echo "bench ended"
