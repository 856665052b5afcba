import type { Commit } from "./commit.ts";
import type { Dependency } from "./dependencies.ts";

/** What the executables are made of, as CycloneDX 1.7. */
export function billOfMaterials(
  version: string,
  commit: Commit,
  dependencies: readonly Dependency[],
): string {
  const program = `pkg:generic/sluice@${version}`;
  const runtime = `pkg:generic/bun@${Bun.version}`;
  const purls = new Map(dependencies.map((each) => [`${each.name}@${each.version}`, purl(each)]));
  const direct = new Set(dependencies.map(purl));
  for (const { needs } of dependencies) for (const id of needs) direct.delete(purls.get(id) ?? "");
  const bom = {
    $schema: "http://cyclonedx.org/schema/bom-1.7.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.7",
    version: 1,
    metadata: {
      timestamp: commit.time.toISOString(),
      component: {
        type: "application",
        "bom-ref": program,
        name: "sluice",
        version,
        licenses: [{ license: { id: "Apache-2.0" } }],
        properties: [{ name: "commit", value: commit.id }],
      },
    },
    components: [
      {
        type: "platform",
        "bom-ref": runtime,
        name: "bun",
        version: Bun.version,
        licenses: [{ license: { id: "MIT" } }],
        purl: runtime,
      },
      ...dependencies.map((each) => ({
        type: "library",
        "bom-ref": purl(each),
        name: each.name,
        version: each.version,
        licenses: [{ expression: each.license }],
        purl: purl(each),
        hashes: [{ alg: "SHA-512", content: hex(each.integrity) }],
      })),
    ],
    dependencies: [
      { ref: program, dependsOn: [runtime, ...direct] },
      { ref: runtime },
      ...dependencies.map((each) => ({
        ref: purl(each),
        dependsOn: each.needs.flatMap((id) => purls.get(id) ?? []),
      })),
    ],
  };
  return `${JSON.stringify(bom, null, 2)}\n`;
}

function purl({ name, version }: Dependency): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function hex(integrity: string): string {
  return Buffer.from(integrity.replace("sha512-", ""), "base64").toString("hex");
}
