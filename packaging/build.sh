#!/bin/bash
# Lays out skipline-host for a package and builds a .deb and a .rpm of it, each where its tool is there:
# packaging/build.sh BINARY MANUALS VERSION OUT. MANUALS is what the example host_manuals wrote.
set -euo pipefail
binary=$1 manuals=$2 version=$3 out=$4
here=$(cd "$(dirname "$0")" && pwd)
staged=$(mktemp -d)
trap 'rm -rf "$staged"' EXIT
chmod 755 "$staged"
root=$staged/root
name=skipline-host
# The same files give the same package.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$here" log -1 --format=%ct 2>/dev/null || echo 0)}

install -D -m 755 "$binary" "$root/usr/bin/$name"
install -D -m 644 "$here/$name-restore.service" "$root/usr/lib/systemd/system/$name-restore.service"
install -D -m 644 "$here/monitoring/$name-exporter.service" "$root/usr/lib/systemd/system/$name-exporter.service"
for page in "$manuals"/man/"$name"*.1; do
  mkdir -p "$root/usr/share/man/man1"
  gzip -9n < "$page" > "$root/usr/share/man/man1/$(basename "$page").gz"
done
install -D -m 644 "$manuals/completions/$name.bash" "$root/usr/share/bash-completion/completions/$name"
install -D -m 644 "$manuals/completions/$name.fish" "$root/usr/share/fish/vendor_completions.d/$name.fish"
# Published slice tables are in the binary, and their licence wants to be beside it.
install -d "$root/usr/share/doc/$name"
cat "$here/../LICENSE" "$here/../crates/slices/slices/data/published/LICENSE" > "$root/usr/share/doc/$name/copyright"
chmod 644 "$root/usr/share/doc/$name/copyright"
mkdir -p "$out"

# zsh of Debian and of Fedora look in different folders.
deb() {
  local tree=$staged/deb
  cp -a "$root" "$tree"
  install -D -m 644 "$manuals/completions/_$name" "$tree/usr/share/zsh/vendor-completions/_$name"
  mkdir "$tree/DEBIAN"
  cat > "$tree/DEBIAN/control" <<CONTROL
Package: $name
Version: $version-1
Architecture: amd64
Maintainer: Skipline maintainers <maintainers@skipline.invalid>
Section: admin
Priority: optional
Recommends: kmod
Description: See, set, measure and restore how I/O data reaches the cache
 Devices write packets and blocks to the last-level cache of a server (Intel
 DDIO, AMD SDCI), to a part of its ways. skipline-host shows how that is
 configured, changes it, measures whether a change did anything, and puts
 everything back. One static binary.
CONTROL
  dpkg-deb --root-owner-group --build "$tree" "$out/${name}_$version-1_amd64.deb" >/dev/null
}

rpm_of() {
  local tree=$staged/rpm
  cp -a "$root" "$tree"
  install -D -m 644 "$manuals/completions/_$name" "$tree/usr/share/zsh/site-functions/_$name"
  # Files alone: the folders belong to other packages.
  (cd "$tree" && find . -type f -printf '/%P\n' | sort) > "$tree.files"
  rpmbuild -bb --quiet --target x86_64 --define "staged $tree" --define "version_of_tree $version" \
    --define "_topdir $staged/rpmbuild" --define "_rpmdir $out" \
    --define "_build_name_fmt %{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm" \
    --define "__os_install_post %{nil}" --define "_build_id_links none" \
    --define "use_source_date_epoch_as_buildtime 1" "$here/$name.spec" 2>&1 | grep -v '^warning' || true
  [ -f "$out/$name-$version-1.x86_64.rpm" ]
}

if command -v dpkg-deb >/dev/null; then deb; else echo "note: no .deb without dpkg-deb"; fi
if command -v rpmbuild >/dev/null; then rpm_of; else echo "note: no .rpm without rpmbuild"; fi
ls "$out"
