import { describe, expect } from "bun:test";
import { Command } from "commander";
import type { OperationContext } from "../../../src/admin/context.ts";
import { attributesFromBody } from "../../../src/admin/key-terms/key-document.ts";
import { updateKey } from "../../../src/admin/keys/change-key.ts";
import { createKey } from "../../../src/admin/keys/create-key.ts";
import {
  type AttributeKind,
  type KeyAttribute,
  type KeyAttributeName,
  type KeyUpdate,
  keyAttributeNames,
  keyAttributes,
} from "../../../src/base/key-attributes.ts";
import { removed } from "../../../src/cli/arguments.ts";
import { keyOptions } from "../../../src/cli/key-options.ts";
import { testEachStore } from "../../store/each-store.ts";
import { FakeClock } from "../../support/clock.ts";
import { storedKeyView } from "./stored-view.ts";

/** A value of each kind as the API and the command line take it, and as it is kept. */
const samples: Readonly<Record<AttributeKind, { wire: unknown; typed: string; kept: unknown }>> = {
  text: { wire: "night shift", typed: "night shift", kept: "night shift" },
  name: { wire: "ada@example.com", typed: "ada@example.com", kept: "ada@example.com" },
  provider: { wire: "openai", typed: "openai", kept: "openai" },
  models: { wire: ["a", "b"], typed: "a,b", kept: ["a", "b"] },
  positive: { wire: 7, typed: "7", kept: 7 },
  count: { wire: 0, typed: "0", kept: 0 },
  period: { wire: "week", typed: "week", kept: "week" },
  moment: { wire: "2099-01-31T00:00:00.000Z", typed: "2099-01-31", kept: 4_073_500_800_000 },
  content: { wire: "failed", typed: "failed", kept: "failed" },
  tpm: {
    wire: [{ limit: 60_000, models: "claude-*" }],
    typed: "60,000:claude-*",
    kept: [{ limit: 60_000, models: "claude-*" }],
  },
  tags: { wire: { project: "atlas" }, typed: "project=atlas", kept: { project: "atlas" } },
  flag: { wire: true, typed: "", kept: true },
};

/** What a command line with only this option asks for. */
function given(name: KeyAttributeName, verb: "create" | "update", text: string): KeyUpdate {
  const { option, kind }: KeyAttribute = keyAttributes[name];
  return parsed(name, verb, kind === "flag" ? [`--${option}`] : [`--${option}`, text]);
}

function taken(name: KeyAttributeName): KeyUpdate {
  const { option, kind, unset, none }: KeyAttribute = keyAttributes[name];
  if (kind !== "flag") return given(name, "update", none ?? String(unset));
  return parsed(name, "update", [`--no-${option}`]);
}

function parsed(name: KeyAttributeName, verb: "create" | "update", line: readonly string[]): KeyUpdate {
  const command = new Command();
  for (const option of [keyOptions(verb)[name]].flat()) command.addOption(option);
  const [value] = Object.values(command.parse(line, { from: "user" }).opts());
  return attributesFromBody({ [name]: value === removed ? null : value });
}

describe("every attribute of a key", () => {
  for (const name of keyAttributeNames) {
    const { field, kind, table, option, unset }: KeyAttribute = keyAttributes[name];
    const { wire, typed, kept } = samples[kind];

    testEachStore(
      `${name} is kept, shown, named in the audit log, and taken away again`,
      async (database) => {
        const clock = new FakeClock();
        const context: OperationContext = { store: await database.openOperator(clock), clock };
        const { key } = await createKey(context, { mode: "token_budget" });
        const changed = await updateKey(context, key.id, attributesFromBody({ [name]: wire }));
        expect(changed.key).toEqual({ ...key, [field]: kept });
        expect(await context.store.findKey(key.id)).toEqual(changed.key);
        expect(changed.detail.startsWith(option)).toBe(true);
        const shown: object = await storedKeyView(context, changed.key);
        if (table === "keys") expect(shown).toHaveProperty(name, wire);
        else expect(shown).toHaveProperty(["budget", name.replace("budget_", "")], wire);
        await updateKey(context, key.id, taken(name));
        expect((await context.store.findKey(key.id))?.[field]).toEqual(unset);
        await context.store.close();
      },
    );

    testEachStore(`${name} may be given to a new key by an option`, async (database) => {
      const clock = new FakeClock();
      const store = await database.openOperator(clock);
      const spec = { mode: "token_budget" as const, ...given(name, "create", typed) };
      const { key } = await createKey({ store, clock }, spec);
      expect((await store.findKey(key.id))?.[field]).toEqual(kept as never);
      await store.close();
    });
  }
});
