import { expect, test } from "bun:test";
import { type TObject, type TSchema, Type, TypeGuard } from "@sinclair/typebox";
import { runningConfigView } from "../../src/admin/config/running-config.ts";
import { decode } from "../../src/config/decode.ts";
import { Places } from "../../src/config/places.ts";
import { ProblemList } from "../../src/config/problems.ts";
import { type Marks, secrecy, unit } from "../../src/config/schema/marks.ts";
import { flag, list, secret, section, table, text, time, whole } from "../../src/config/schema/parts.ts";
import { configSchema } from "../../src/config/schema.ts";
import { sectionView } from "../../src/config/view.ts";
import { demoModel, load } from "./fixtures.ts";

const { providers: _, models: __, routes: ___, ...sections } = configSchema.properties;

function optionsIn(schema: TObject, path: string): [path: string, field: TSchema][] {
  return Object.entries(schema.properties).flatMap(([name, field]) =>
    field["properties"] === undefined
      ? [[`${path}.${name}`, field] as [string, TSchema]]
      : optionsIn(field as TObject, `${path}.${name}`),
  );
}

const all = Object.entries(sections).flatMap(([name, schema]) => optionsIn(schema, name));

test("every option that is written as a reference to a secret is marked, so that it is resolved and masked", () => {
  const unmarked = all.filter(
    ([, field]) =>
      String(field.description).includes("`env:NAME`") && (field as Marks)[secrecy] === undefined,
  );
  expect(unmarked.map(([path]) => path)).toEqual([]);
  expect(all.length).toBeGreaterThan(50);
});

test("an option that has a default can be left out of its section", () => {
  const withDefault = all.filter(([, field]) => field["default"] !== undefined);
  expect(withDefault.filter(([, field]) => !TypeGuard.IsOptional(field)).map(([path]) => path)).toEqual([]);
  expect(withDefault.length).toBeGreaterThan(50);
  expect(load(`[batches]\nconcurrency = 8\n${demoModel}`).settings.batches).toMatchObject({
    concurrency: 8,
    maxInputBytes: 100 * 1024 * 1024,
    bytesPerKeyBytes: 1024 * 1024 * 1024,
  });
});

test("the running configuration has every option of the schema", () => {
  const text =
    '[content]\n[tracing]\notlp_endpoint = "http://127.0.0.1:1"\n[alerts]\nurl = "env:HOOK"\n[feed]\nurl = "env:HOOK"\n';
  const shown: Record<string, unknown> = {
    ...runningConfigView(load(text, { env: { HOOK: "https://hooks.example.com" } }).settings),
  };
  for (const [name, schema] of Object.entries(sections)) {
    if (shown[name] === null) continue;
    const names = Object.entries(schema.properties).map(([option, field]) =>
      (field as Marks)[unit] === "ms" ? `${option}_ms` : option,
    );
    expect(Object.keys(shown[name] ?? {}).toSorted(), name).toEqual(names.toSorted());
  }
});

test("an option needs no more than its line in the schema to be decoded and shown", () => {
  const schema = table({
    max_things: whole("", { default: 5 }),
    pause: time("", "2m"),
    limit: time(""),
    is_on: flag("", true),
    names: list(Type.String(), ""),
    title: text(""),
    token: Type.Optional(secret),
    inner: section({ some_name: text("", { default: "x" }) }),
  });
  const document = { pause: "3s", token: "env:TOKEN", inner: {} };
  const places = new Places("", document);
  const env = { TOKEN: "a-secret-token" };
  const context = { env, folder: "/", problems: new ProblemList(places), places, warnings: [] };
  const settings = decode(schema, document, "things", context);
  const {
    maxThings,
    pauseMs,
    isOn,
    inner,
  }: { maxThings: number; pauseMs: number; isOn: boolean; inner: object | null } = settings;
  expect([maxThings, pauseMs, isOn, inner]).toEqual([5, 3000, true, { someName: "x" }]);
  expect(settings).toMatchObject({ limitMs: null, names: [], title: null, token: "a-secret-token" });
  expect(sectionView(schema, settings)).toEqual({
    max_things: 5,
    pause_ms: 3000,
    limit_ms: null,
    is_on: true,
    names: [],
    title: null,
    token: "********",
    inner: { some_name: "x" },
  });
});
