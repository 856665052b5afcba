import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { YAML } from "bun";
import { packageManager, scripts } from "../../package.json";
import { root } from "./made.ts";

interface Workflow {
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<
    Record<string, { readonly steps: readonly { readonly run?: string; readonly uses?: string }[] }>
  >;
}

const folder = join(root, ".github/workflows");

test.each(readdirSync(folder))("%s calls only scripts that are here, with the pinned Bun", (name) => {
  const { jobs, permissions } = YAML.parse(readFileSync(join(folder, name), "utf8")) as Workflow;
  // What a job may write, it says itself.
  expect(permissions).toEqual({ contents: "read" });
  const lines = Object.values(jobs).flatMap(({ steps }) => steps.flatMap(({ run }) => run ?? []));
  for (const line of lines) {
    for (const [, bun = "", script = ""] of line.matchAll(/npx -y (\S+) run (\S+)/g)) {
      expect(bun).toBe(packageManager);
      expect(Object.keys(scripts)).toContain(script);
    }
    for (const [, file = ""] of line.matchAll(/bash (\S+)/g)) expect(existsSync(join(root, file))).toBe(true);
  }
  expect(lines.length).toBeGreaterThan(0);
});

test.each(readdirSync(folder))("%s pins every action by its commit, with the version for people", (name) => {
  const uses = readFileSync(join(folder, name), "utf8").match(/uses: .*/g) ?? [];
  expect(uses.length).toBeGreaterThan(0);
  for (const line of uses) expect(line).toMatch(/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

test("updates are proposed for the packages and for the actions", () => {
  const { updates } = YAML.parse(readFileSync(join(root, ".github/dependabot.yml"), "utf8")) as {
    updates: { "package-ecosystem": string }[];
  };
  expect(updates.map((update) => update["package-ecosystem"])).toEqual(["bun", "github-actions"]);
});
