# SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
# Filters messages of checkpatch --terse --show-types: drops those that scripts/checkpatch.conf accepts.
#
# usage: ... | awk -F: -f scripts/lib/accepted.awk scripts/checkpatch.conf -
#
# A message is FILE:LINE: KIND:TYPE: TEXT; FILE is a path of the project.
FNR == NR {
	if ($0 !~ /^(#|$)/) {
		row = $0
		gsub(/\\\|/, "\001", row)
		split(row, cell, "|")
		type = cell[1]
		where = cell[2]
		gsub(/[ \t]/, "", type)
		gsub(/^[ \t]+|[ \t]+$/, "", where)
		gsub(/\001/, "|", where)
		count++
		types[count] = type
		places[count] = where
	}
	next
}
/^$/ { next }
{
	for (i = 1; i <= count; i++)
		if ($4 == types[i] && $1 ~ ("^" places[i] "$"))
			next
	print
}
