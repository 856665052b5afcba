import { type Static, Type } from "@sinclair/typebox";
import { assert } from "../../base/assert.ts";
import { keyModes } from "../../base/key-attributes.ts";
import { filterInTurns, sortInTurns } from "../../base/loop/in-turns.ts";
import { creditsFromNano } from "../../base/money/money.ts";
import { effectiveStatus } from "../../keys/keyring.ts";
import type { KeyRecord } from "../../store/store.ts";
import type { Caller } from "../access/identity.ts";
import type { AdminDeps } from "../deps.ts";
import { oneOf, text } from "../formats/shapes.ts";
import { capsOfKeys } from "../key-terms/bound-caps.ts";
import { type KeyList, type KeyView, keyStatuses } from "../key-terms/schema.ts";
import { readSignIns, summarizeKey, withLastUse, withRecentDays } from "./key-summary.ts";

export const keyListQuery = Type.Object({
  search: Type.Optional(text("Part of the label or owner, or the start of the id or prefix.")),
  status: Type.Optional(oneOf(keyStatuses)),
  mode: Type.Optional(oneOf(keyModes)),
  account: Type.Optional(text("Only keys billed to this account, by its id.")),
  owner: Type.Optional(
    Type.Literal("me", { description: "Only your own keys, whatever else your role can see." }),
  ),
  sort: oneOf(["newest", "label", "owner", "expires"], "newest"),
  cursor: Type.Optional(Type.String()),
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 50 }),
});
export const keyQuery = Type.Object({
  last_used: Type.Union([Type.Literal("true"), Type.Literal("false")], {
    default: "true",
    description: "`false`: without `last_used_on`, which waits while a long report runs.",
  }),
});
type KeyListQuery = Static<typeof keyListQuery>;
type KeyOrder = KeyListQuery["sort"];

/** The sort key of each order; keys without a value come last. */
const orderOf: Readonly<Record<Exclude<KeyOrder, "newest">, (key: KeyRecord) => string | number | null>> = {
  label: ({ label }) => label?.toLowerCase() ?? null,
  owner: ({ owner }) => owner?.toLowerCase() ?? null,
  expires: ({ expiresAtMs }) => expiresAtMs,
};

async function sorted(keys: readonly KeyRecord[], order: KeyOrder): Promise<readonly KeyRecord[]> {
  if (order === "newest") return keys.toReversed();
  return sortInTurns(keys, (one, other) => {
    const [a, b] = [orderOf[order](one), orderOf[order](other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return a < b ? -1 : Number(a > b);
  });
}

/** Lists keys. All keys are in memory; some thousand are searched per event-loop iteration. */
export async function keyList(
  deps: AdminDeps,
  query: KeyListQuery,
  caller: Pick<Caller, "owns" | "role">,
): Promise<KeyList> {
  const seesAll = caller.role !== "member" && query.owner !== "me";
  const isFound = (key: KeyRecord) => (seesAll || caller.owns(key)) && matches(deps, key, query);
  const found = await sorted(await filterInTurns(deps.keys.all(), isFound), query.sort);
  const after = query.cursor === undefined ? -1 : found.findIndex((key) => key.id === query.cursor);
  const page = found.slice(after + 1, after + 1 + query.limit);
  const last = page.at(-1);
  const more = last !== undefined && after + 1 + query.limit < found.length;
  return {
    data: await withRecentDays(deps, await withLastUse(deps, await keyViews(deps, page))),
    next_cursor: more ? last.id : null,
    total: found.length,
  };
}

function matches(deps: AdminDeps, key: KeyRecord, { search, status, mode, account }: KeyListQuery): boolean {
  if (account !== undefined && key.accountId !== account) return false;
  if (mode !== undefined && key.mode !== mode) return false;
  if (status !== undefined && effectiveStatus(key, deps.clock.wallMs()) !== status) return false;
  if (search === undefined || search === "") return true;
  const text = search.toLowerCase();
  if (key.label?.toLowerCase().includes(text) || key.owner?.toLowerCase().includes(text)) return true;
  // A whole secret finds its key too, because it starts with the prefix.
  return key.id.startsWith(search) || key.prefix.startsWith(search) || search.startsWith(key.prefix);
}

type ViewDeps = Pick<AdminDeps, "clock" | "accounts" | "knowsReserved" | "store">;

/** Reads no report, so that the answer to a change waits for none. */
export async function keyView(deps: ViewDeps, key: KeyRecord): Promise<KeyView> {
  const [view] = await keyViews(deps, [key]);
  assert(view !== undefined, "every key has a view");
  return view;
}

/** With the last day on which the key was used, which waits while a long report runs. */
export async function usedKeyView(deps: ViewDeps, key: KeyRecord): Promise<KeyView> {
  const [view] = await withLastUse(deps, [await keyView(deps, key)]);
  assert(view !== undefined, "every key has a view");
  return view;
}

async function keyViews(
  { clock, accounts, knowsReserved, store }: ViewDeps,
  keys: readonly KeyRecord[],
): Promise<readonly KeyView[]> {
  const summaries = await accounts.summaries(keys.map(({ id }) => id));
  const signInOf = await readSignIns({ store }, keys);
  const valueCaps = await capsOfKeys({ store, clock }, keys);
  return keys.map((key, place) => {
    const account = summaries[place];
    assert(account !== undefined, `key ${key.id} has no account`);
    const held = key.mode === "credit" ? creditsFromNano(account.held) : account.budgetHeld;
    const summary = summarizeKey(key, account, clock.wallMs(), signInOf(key));
    return { ...summary, reserved: knowsReserved ? held : null, value_caps: valueCaps[place] ?? [] };
  });
}
