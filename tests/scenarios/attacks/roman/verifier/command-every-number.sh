work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for m in "" M MM MMM; do
  for c in "" C CC CCC CD D DC DCC DCCC CM; do
    for x in "" X XX XXX XL L LX LXX LXXX XC; do
      for i in "" I II III IV V VI VII VIII IX; do
        echo "$m$c$x$i"
      done
    done
  done
done 2>/dev/null | sed 1d >"$work/wanted"
test "$(grep -c . "$work/wanted")" = 3999
cargo run --quiet --offline -- $(seq 1 3999) >"$work/printed"
cmp "$work/wanted" "$work/printed"
