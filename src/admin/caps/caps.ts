import { newId } from "../../base/id.ts";
import { canBeCapped, ownerLabel, tagPrefix, tagsFromTexts } from "../../base/requests/labels.ts";
import { plural } from "../../base/text/plural.ts";
import { labelText } from "../../gateway/request/labels.ts";
import { maxCountedValues } from "../../ledger/value-caps.ts";
import type { KeyMode, ValueCapRecord } from "../../store/store.ts";
import { findAccount } from "../accounts/accounts.ts";
import { invalidInput, type OperationContext, OperationError, shownName } from "../context.ts";
import { shown } from "../key-terms/cap-document.ts";
import { capLimits, capName } from "../key-terms/cap-text.ts";
import { findKey } from "../key-terms/find-key.ts";
import { type KnownNames, rejectUnknownModel } from "../key-terms/known-names.ts";
import { untilUnchanged } from "../until-unchanged.ts";
import { capView, currentValues } from "./cap-view.ts";
import type { CapChangesBody, CapDetailView, NewCapBody } from "./schema.ts";
import { rejectCircle } from "./step-downs.ts";

/** Caps can name a model, so that its name has to be known. */
export interface CapContext extends OperationContext {
  /** Null if they are not known. */
  knownNames(): KnownNames | null;
}

/** A cap that an operator has changed. */
export interface ChangedCap {
  readonly cap: ValueCapRecord;
  /** For the audit log. */
  readonly detail: string;
}

const maxCaps = 10_000;
/** Limits the cost of a request: it is checked against each of these caps. */
const maxEachCaps = 50;

/** The requests that a cap counts: of a key, of an account, or of all. */
interface Scope {
  readonly keyId: string | null;
  readonly accountId: string | null;
  readonly mode: KeyMode;
}

export async function addCap(context: CapContext, body: NewCapBody): Promise<ChangedCap> {
  const { store, clock } = context;
  const { label, value } = labelOf(body);
  const scope = await scopeOf(context, body);
  const isOptional = body.optional ?? false;
  checkLabelled(body, { label, value, isOptional, scope });
  const [limit] = capLimits(
    [{ amount: body.limit, period: body.period, models: body.models ?? null }],
    scope.mode,
  );
  if (limit === undefined) throw invalidInput("a cap needs a limit");
  const cap = {
    id: newId("cap_"),
    ...scope,
    ...limit,
    label,
    value,
    isOptional,
    maxValues: body.values ?? maxCountedValues,
    thenModel: body.then ?? null,
    thenAlways: body.then_always ?? false,
  };
  const added = await untilUnchanged(store, async (sinceRevision) => {
    const all = await store.valueCaps();
    rejectSame(all, cap);
    checkThen(context, cap, all);
    return store.insertValueCap(cap, clock.wallMs(), sinceRevision);
  });
  return { cap: added, detail: capText(added) };
}

function labelOf({ each, owner, user, tag }: NewCapBody): Pick<ValueCapRecord, "label" | "value"> {
  const named = [each, owner, user, tag].filter((given) => given !== undefined);
  if (named.length !== 1) throw invalidInput("pass exactly one of `each`, `owner`, `user` and `tag`");
  if (owner !== undefined)
    return { label: "owner", value: visible(ownerLabel(storable(owner, "an owner")), "an owner") };
  if (user !== undefined)
    return { label: "user", value: visible(labelText(storable(user, "an end user")), "an end user") };
  if (tag !== undefined) {
    const [pair] = Object.entries(tagsFromTexts([tag]) ?? {});
    if (pair === undefined)
      throw invalidInput("use a tag such as NAME=VALUE, each of 1 to 64 letters, digits or _.:@-");
    return { label: tagPrefix + pair[0], value: pair[1] };
  }
  const label = each ?? "";
  if (!canBeCapped(label)) throw invalidInput("`each` must be owner, user or tag:NAME");
  return { label, value: null };
}

/** Text in the form in which labels are stored: PostgreSQL rejects NUL and unpaired surrogates. */
function storable(value: string, what: string): string {
  if (value.includes("\0")) throw invalidInput(`${what} cannot contain a NUL character`);
  return value.toWellFormed();
}

function visible(value: string, what: string): string {
  if (value === "") throw invalidInput(`${what} needs a visible character`);
  return value;
}

async function scopeOf(context: OperationContext, { key, account, mode }: NewCapBody): Promise<Scope> {
  if (key !== undefined && account !== undefined) throw invalidInput("pass `key` or `account`, not both");
  if (key === undefined && account === undefined)
    return { keyId: null, accountId: null, mode: mode ?? "credit" };
  const owner = key === undefined ? await findAccount(context, account ?? "") : await findKey(context, key);
  if (mode !== undefined && mode !== owner.mode)
    throw invalidInput(
      `within ${key ?? account} amounts are in ${owner.mode === "credit" ? "credits" : "tokens"}; remove \`mode\``,
    );
  return {
    keyId: key === undefined ? null : owner.id,
    accountId: key === undefined ? owner.id : null,
    mode: owner.mode,
  };
}

function checkLabelled(
  { values }: NewCapBody,
  cap: { label: string; value: string | null; isOptional: boolean; scope: Scope },
): void {
  const { label, value, isOptional, scope } = cap;
  if (value !== null && isOptional)
    throw invalidInput("`optional` is only for caps that count each value; remove it");
  if (value !== null && values !== undefined)
    throw invalidInput("`values` is only for caps that count each value; remove it");
  if (label === "owner" && isOptional)
    throw invalidInput("a cap by owner does not apply to keys without an owner; remove `optional`");
  const isEverywhere = scope.keyId === null && scope.accountId === null;
  if (isEverywhere && value === null && label !== "owner" && !isOptional) {
    throw invalidInput(
      `clients that do not send ${label} would all be rejected; pass \`key\` or \`account\`, or \`optional\` to count them together`,
    );
  }
}

function checkThen(
  context: CapContext,
  cap: Omit<ValueCapRecord, "no" | "extra" | "extraPeriodMs">,
  all: readonly ValueCapRecord[],
  before: string | null = null,
): void {
  const { thenModel, thenAlways } = cap;
  if (thenModel === null && thenAlways)
    throw invalidInput("`then_always` needs `then`, the model to run instead");
  const known = context.knownNames();
  if (thenModel !== null && thenModel !== before && known !== null) rejectUnknownModel(thenModel, known);
  rejectCircle(cap, all);
}

function rejectSame(
  all: readonly ValueCapRecord[],
  cap: Omit<ValueCapRecord, "no" | "extra" | "extraPeriodMs">,
): void {
  const kind = ({ keyId, accountId, mode, label, value, period, models }: typeof cap) =>
    JSON.stringify([keyId, accountId, mode, label, value, period, models]);
  const same = all.find((other) => other.id !== cap.id && kind(other) === kind(cap));
  if (same !== undefined)
    throw invalidInput(
      `another cap, ${same.id}, already limits the same; change it with \`sluice caps update ${same.id}\`, or remove it`,
    );
  if (all.length >= maxCaps)
    throw invalidInput(`there are already ${maxCaps} caps, the maximum; remove some`);
  const each = all.filter(({ value }) => value === null);
  if (cap.value === null && each.length >= maxEachCaps)
    throw invalidInput(`there are already ${maxEachCaps} caps with \`each\`, the maximum; remove some`);
}

async function findCap({ store }: OperationContext, id: string): Promise<ValueCapRecord> {
  const cap = (await store.valueCaps()).find((each) => each.id === id);
  if (cap === undefined)
    throw new OperationError("unknown_cap", `cap ${shownName(id)} does not exist; run \`sluice caps list\``);
  return cap;
}

export function updateCap(context: CapContext, id: string, body: CapChangesBody): Promise<ChangedCap> {
  return untilUnchanged(context.store, (sinceRevision) => changeCap(context, id, body, sinceRevision));
}

async function changeCap(
  context: CapContext,
  id: string,
  body: CapChangesBody,
  sinceRevision: number,
): Promise<ChangedCap> {
  const { limit: amount, period, models, values, then, then_always: thenAlways } = body;
  const before = await findCap(context, id);
  if (Object.values(body).every((given) => given === undefined))
    throw invalidInput("nothing to change; pass `limit`, `values`, `then` or `then_always`");
  if (values !== undefined && before.value !== null)
    throw invalidInput("`values` is only for caps that count each value; remove it");
  const written = {
    amount: amount ?? shown(before.limit, before.mode),
    period: period ?? before.period,
    models: models === undefined ? before.models : models,
  };
  const [limit] = capLimits([written], before.mode);
  if (limit === undefined) throw invalidInput("a cap needs a limit");
  const changes = {
    ...limit,
    ...(values !== undefined && { maxValues: values }),
    // Without a model to run there is nothing to do always.
    ...(then !== undefined && { thenModel: then, ...(then === null && { thenAlways: false }) }),
    ...(thenAlways !== undefined && { thenAlways }),
  };
  const all = (await context.store.valueCaps()).filter((each) => each.id !== id);
  const after = { ...before, ...changes };
  rejectSame(all, after);
  checkThen(context, after, all, before.thenModel);
  const cap = await context.store.updateValueCap(id, changes, context.clock.wallMs(), sinceRevision);
  return { cap, detail: `${capText(before)} → ${capText(cap)}` };
}

export async function raiseCap(
  context: OperationContext,
  id: string,
  {
    amount,
    value,
    note,
  }: { readonly amount: number; readonly value?: string | undefined; readonly note: string },
): Promise<ChangedCap> {
  const cap = await findCap(context, id);
  if (note.trim() === "") throw invalidInput("a raise needs a note with the reason");
  const [limit] = capLimits([{ amount, period: cap.period, models: cap.models }], cap.mode);
  if (limit === undefined || limit.limit === 0) throw invalidInput("the amount must be above 0");
  const raised = value === undefined ? cap.value : raisedValue(cap, value);
  if (cap.value !== null && raised !== cap.value) throw invalidInput(`this cap limits ${cap.value} only`);
  await context.store.raiseValueCap(id, limit.limit, raised, context.clock.wallMs());
  const whom = raised === null ? "all" : raised;
  return { cap: await findCap(context, id), detail: `by ${amount} for ${whom}: ${note}` };
}

function raisedValue({ label }: ValueCapRecord, value: string): string {
  const stored = storable(value, "a value");
  return label === "owner" ? ownerLabel(stored) : labelText(stored);
}

export async function removeCap(context: OperationContext, id: string): Promise<ChangedCap> {
  await findCap(context, id);
  const cap = await context.store.removeValueCap(id);
  return { cap, detail: capText(cap) };
}

/** Maximum number of values shown, those with the highest use first. */
const maxShown = 100;

export async function showCap(context: OperationContext, id: string): Promise<CapDetailView> {
  const cap = await findCap(context, id);
  const totals = await context.store.valueTotals(cap.no);
  const nowMs = context.clock.wallMs();
  const values = currentValues(cap, totals, nowMs);
  const view = capView(cap, values, nowMs);
  const usedBy = values.filter(({ used, raised_by }) => used > 0 || raised_by > 0);
  return { ...view, notes: await notesFor(context, cap), used_by: usedBy.slice(0, maxShown) };
}

/** Notes about requests that the cap, perhaps unexpectedly, does not count. */
async function notesFor({ store }: OperationContext, cap: ValueCapRecord): Promise<string[]> {
  const notes: string[] = [];
  if (cap.label === "owner" && cap.value === null) {
    const { keys } = await store.load();
    const ownerless = keys.filter(({ owner, status }) => owner === null && status !== "revoked").length;
    if (ownerless > 0)
      notes.push(
        `It does not apply to ${plural(ownerless, "key")} without an owner. Set one with \`sluice keys update KEY --owner NAME\`.`,
      );
  } else if (cap.label === "user" && cap.value !== null) {
    notes.push("It does not apply to requests without an end user. Clients choose what they send.");
  } else if (cap.value !== null && cap.label !== "owner") {
    notes.push("It does not apply to requests without the tag, unless the key or account has it.");
  } else if (cap.label !== "owner") {
    notes.push("Labels that clients send are not proof of who they are.");
  }
  notes.push(
    "It counts what this period has already spent, except charges from before labels were stored with them.",
  );
  return notes;
}

/** `20/day each owner`, for the audit log. */
export function capText(cap: ValueCapRecord): string {
  const { limit, mode, label, value, keyId, accountId, thenModel, thenAlways } = cap;
  const whom = value === null ? `each ${label}` : `${label} ${value}`;
  const where = keyId ?? accountId;
  const then = thenModel === null ? "" : `, then ${thenModel}${thenAlways ? " always" : ""}`;
  return `${shown(limit, mode)}/${capName(cap)} ${whom}${where === null ? "" : ` within ${where}`}${then}`;
}
