// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
// Validates objects of Kubernetes against the schemas of its API, as kubernetes-models has them. Standard input is a JSON
// array of objects; status 1, and a line for each invalid one.
import { readFileSync } from "node:fs";
import * as groups from "kubernetes-models";

// All classes of the API, by "version kind". A group is a module whose members are versions, or the classes of v1.
function classes(module, found = new Map()) {
	for (const member of Object.values(module)) {
		if (typeof member === "function" && member.apiVersion)
			found.set(`${member.apiVersion} ${member.kind}`, member);
		else if (typeof member === "object")
			classes(member, found);
	}
	return found;
}

const known = classes(groups);
let bad = 0;
for (const object of JSON.parse(readFileSync(0, "utf8"))) {
	const name = `${object.apiVersion} ${object.kind}`;
	try {
		const kind = known.get(name);
		if (!kind)
			throw new Error("the API has no such kind");
		new kind(object).validate();
	} catch (error) {
		console.log(`${name} ${object.metadata?.name}: ${error.message}`);
		bad = 1;
	}
}
process.exit(bad);
