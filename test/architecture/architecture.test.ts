import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { findCycle, importsOf, placeOf, readSources, roomOf } from "./imports.ts";
import { readFloors, readMap } from "./map.ts";
import { unawaitedExpectations } from "./unawaited.ts";

const map = readMap();
const sources = readSources("src");
const imports = sources.flatMap((source) => source.imports);

describe("the rooms", () => {
  test("import only what they may", () => {
    const forbidden = imports.filter(({ from, to, typeOnly }) => {
      const room = roomOf(from);
      const target = roomOf(to);
      if (!to.startsWith("src/") || room === target || target === "base") return false;
      const allowed = map.get(room);
      if (allowed === undefined) return true;
      return !allowed.everything && !allowed.rooms.has(target) && !(typeOnly && allowed.types.has(target));
    });
    expect(forbidden.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  test("are all on the map, and the map has no other", () => {
    expect([...map.keys()].toSorted()).toEqual(
      [...new Set(sources.map((source) => roomOf(source.path)))].toSorted(),
    );
  });

  test("use every permission that the map gives them", () => {
    const used = new Set(imports.map(({ from, to }) => `${roomOf(from)} → ${roomOf(to)}`));
    const unused = [...map].flatMap(([room, { rooms, types }]) =>
      [...rooms, ...types].map((target) => `${room} → ${target}`).filter((arrow) => !used.has(arrow)),
    );
    expect(unused).toEqual([]);
  });

  test("are listed below what they import, so that no arrow runs up", () => {
    const order = [...map.keys()];
    const upward = [...map].flatMap(([room, { rooms, types }]) =>
      [...rooms, ...types].filter((target) => order.indexOf(target) > order.indexOf(room)),
    );
    expect(upward).toEqual([]);
  });

  test("form no cycle", () => {
    const arrows = new Map<string, string[]>();
    for (const { from, to } of imports) {
      if (!to.startsWith("src/") || roomOf(from) === roomOf(to)) continue;
      arrows.set(roomOf(from), [...(arrows.get(roomOf(from)) ?? []), roomOf(to)]);
    }
    expect(findCycle(arrows)).toBeNull();
  });

  test("and their files form no cycle either", () => {
    const arrows = new Map(sources.map((source) => [source.path, source.imports.map((it) => it.to)]));
    expect(findCycle(arrows)).toBeNull();
  });

  test("know no database but through `openStore`", () => {
    const all = [...imports, ...readSources("test").flatMap((source) => source.imports)];
    const knowing = all.filter(({ to }) => /^src\/store\/(sqlite|postgres)\//.test(to));
    const outside = knowing.filter(({ from }) => !/^(src|test)\/store\/(sqlite|postgres)\//.test(from));
    expect([...new Set(outside.map(({ from }) => from))].toSorted()).toEqual([
      "src/store/open-content.ts",
      "src/store/open.ts",
    ]);
  });

  test("know Elysia only at the edge", () => {
    const knowing = imports.filter(({ to }) => to === "elysia" || to.startsWith("elysia/"));
    const outside = knowing.filter(({ from }) => !/^src\/(http|admin\/(?:routes|auth|api))\b/.test(from));
    expect(outside.map(({ from }) => from)).toEqual([]);
  });
});

describe.each([...readFloors()])("the floors of %s", (room, floors) => {
  const within = imports.filter(({ from, to }) => roomOf(from) === room && roomOf(to) === room);

  test("are all on its list, and the list has no other", () => {
    const places = sources.filter(({ path }) => roomOf(path) === room).map(({ path }) => placeOf(path));
    expect([...new Set(places)].toSorted()).toEqual(floors.toSorted());
  });

  test("import only from those listed before them", () => {
    const upward = within.filter(
      ({ from, to }) => floors.indexOf(placeOf(to)) > floors.indexOf(placeOf(from)),
    );
    expect(upward.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });
});

test("the large rooms have floors", () => {
  expect([...readFloors().keys()]).toEqual(expect.arrayContaining(["gateway", "dialects", "admin"]));
});

describe("the files", () => {
  const all = [...sources, ...readSources("test")];

  test("have at most 350 lines, and 500 where they are tests", () => {
    const long = all.filter(
      ({ path, text }) => text.split("\n").length > (path.startsWith("src/") ? 351 : 501),
    );
    expect(long.map((source) => source.path)).toEqual([]);
  });

  test("export no two types of one name, but for counterparts in the two databases", () => {
    const declared = /^export (?:abstract )?(?:class|interface|type) (\w+)/gm;
    const homes = new Map<string, Set<string>>();
    for (const { path, text } of sources.filter(({ path }) => !path.startsWith("src/dashboard/page/"))) {
      const home = path.replace(/^src\/store\/(?:sqlite|postgres)\//, "src/store/*/");
      for (const [, name = ""] of text.matchAll(declared)) {
        homes.set(name, (homes.get(name) ?? new Set()).add(home));
      }
    }
    const shared = [...homes].filter(([, places]) => places.size > 1);
    expect(shared.map(([name, places]) => `${name}: ${[...places].join(", ")}`)).toEqual([]);
  });

  test("export no value that only their own file uses: the compiler finds what is unused among the others", () => {
    const declared = /^export (?:async )?(?:const|function\*?|(?:abstract )?class) (\w+)/gm;
    const files = new Map<string, number>();
    for (const { text } of all) {
      for (const word of new Set(text.match(/\w+/g))) files.set(word, (files.get(word) ?? 0) + 1);
    }
    const alone = sources.flatMap(({ path, text }) =>
      [...text.matchAll(declared)].flatMap(([, name = ""]) =>
        files.get(name) === 1 ? [`${path}: ${name}`] : [],
      ),
    );
    expect(alone).toEqual([]);
  });

  test("are named in comments only if they exist", () => {
    const names = new Set(
      [...new Bun.Glob("{src,test,config}/**/*.ts").scanSync()].map((path) => basename(path)),
    );
    const named = sources.flatMap(({ path, text }) =>
      [...text.matchAll(/^\s*(?:\/\*)?\*+(?!\/).*$|\/\/ .*$/gm)].flatMap(([comment]) =>
        [...comment.matchAll(/(?:src\/|[\s(`])(?:[\w-]+\/)*([\w-]+\.ts)\b/g)].map(([, name]) => ({
          path,
          name,
        })),
      ),
    );
    expect(named.filter(({ name = "" }) => !names.has(name))).toEqual([]);
  });

  test("are named after what they are, never `utils` or `helpers`", () => {
    expect(
      all.map((source) => source.path).filter((path) => /\b(utils?|helpers?|misc|common)\b/.test(path)),
    ).toEqual([]);
  });

  for (const [what, pattern] of [
    ["the type `any`", /(?::|<|\||\bas)\s*any\b(?!\s*[A-Za-z])/],
    ["switched-off checks", /@ts-ignore|@ts-expect-error|@ts-nocheck/],
    ["marks of unfinished work", /\b(?:TODO|FIXME|XXX|HACK)\b/],
  ] as const) {
    test(`of the source have no ${what}`, () => {
      const matching = sources.filter((source) => pattern.test(source.text));
      expect(matching.map((source) => source.path)).toEqual([]);
    });
  }

  test("of the tests skip nothing and leave nothing focused", () => {
    const marks = /\b(?:test|describe|it)\.(?:skip|todo|only|failing)\(/;
    expect(all.filter((source) => marks.test(source.text)).map((source) => source.path)).toEqual([]);
  });
});

describe("the reading of imports", () => {
  test("sees every form", () => {
    const text = [
      'import { a } from "./a.ts";',
      'import type { B } from "../base/b.ts";',
      'import {\n  type C,\n  d,\n} from "./c.ts";',
      'export * from "./e.ts";',
      'import "./f.ts";',
      'const g = await import("./g.ts");',
      'import sql from "./h.sql" with { type: "text" };',
      'import { Elysia } from "elysia";',
    ].join("\n");
    expect(
      importsOf("src/room/x.ts", text).map(({ to, typeOnly }) => `${to}${typeOnly ? " type" : ""}`),
    ).toEqual([
      "src/room/a.ts",
      "src/base/b.ts type",
      "src/room/c.ts",
      "src/room/e.ts",
      "src/room/f.ts",
      "src/room/g.ts",
      "src/room/h.sql",
      "elysia",
    ]);
  });

  test("finds a cycle", () => {
    const arrows = new Map([
      ["a", ["b"]],
      ["b", ["c"]],
      ["c", ["b"]],
    ]);
    expect(findCycle(arrows)).toEqual(["b", "c", "b"]);
  });
});

test("tests wait for every promise that they expect to settle", () => {
  const floating = [...new Bun.Glob("test/!(architecture)/**/*.ts").scanSync()].flatMap((path) =>
    unawaitedExpectations(readFileSync(path, "utf8")).map((line) => `${path}:${line}`),
  );
  expect(floating).toEqual([]);
  expect(unawaitedExpectations("  expect(call()).rejects.toThrow();")).toEqual([1]);
  expect(unawaitedExpectations("\n  await expect(call(1)\n).rejects.toThrow();")).toEqual([]);
});
