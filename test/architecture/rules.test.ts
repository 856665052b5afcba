import { expect, test } from "bun:test";
import { Glob } from "bun";
import { projectRoot } from "./imports.ts";

const sources = await Promise.all(
  Array.from(new Glob("src/**/*.{ts,tsx}").scanSync({ cwd: projectRoot }), async (file) => ({
    file,
    lines: (await Bun.file(`${projectRoot}/${file}`).text()).split("\n"),
  })),
);

const maxFunctionLines = 100;

/** Records of many small functions, lists of routes, and markup: a longer list, not a longer train of thought. */
const lists: ReadonlySet<string> = new Set([
  "storedAlerts",
  "queriedStore",
  "sqliteStore",
  "storedDevices",
  "storedAdmin",
  "reportRoutes",
  "Playground",
]);

const functionStart =
  /^(?<indent>\s*)(?:export )?(?:async )?(?:function\*? (?<name>\w+)|(?:static |async |get |set |\*)*(?<method>#?\w+)\(.*\{$)/;
const statement = /^\s*(?:if|for|while|switch|catch|return|else|test|describe)\b/;

function longFunctions(): string[] {
  const long = new Set<string>();
  for (const { file, lines } of sources) {
    for (const [index, line] of lines.entries()) {
      const { indent, name, method } = functionStart.exec(line)?.groups ?? {};
      const called = name ?? method;
      if (indent === undefined || called === undefined || statement.test(line)) continue;
      const length = lines.slice(index).findIndex((each, at) => at > 0 && each.startsWith(`${indent}}`)) + 1;
      if (length > maxFunctionLines) long.add(lists.has(called) ? called : `${file} ${called}: ${length}`);
    }
  }
  return [...long].toSorted();
}

test("no function has more than 100 lines, but for records, routes and markup, which are lists", () => {
  expect(longFunctions()).toEqual([...lists].toSorted());
});

/** They show an amount, or read another's. */
const shown = /^src\/(?:cli\/terminal\/terminal|admin\/requests\/explain-charge|vendors\/usage-report)\.ts$/;

test("money is rounded in one place, and nowhere else but where it is shown", () => {
  const rounding = /Math\.(?:ceil|round|floor|trunc)\([^)]*[nN]ano/;
  const found = sources
    .filter(({ file, lines }) => lines.some((line) => rounding.test(line)) && !shown.test(file))
    .map(({ file }) => file);
  expect(found).toEqual(["src/base/money/money.ts"]);
});
