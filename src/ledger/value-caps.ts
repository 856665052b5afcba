import type { KeyMode } from "../base/key-attributes.ts";
import type { StepDown } from "../base/money/bound.ts";
import { type CallerLabels, readLabels, type StoredLabels, tagPrefix } from "../base/requests/labels.ts";
import type { CapTotals, ValueCapRecord, ValueRaise, ValueTotals } from "../store/store.ts";
import { Cap, type CapGroup, type CountedModels, coversCounted, type LabelledItem } from "./cap.ts";

/** A hold or charge, and its key. */
export interface ValuedItem extends LabelledItem {
  readonly keyId: string;
  readonly accountId: string;
}

/** The most values that a cap can count in a period. */
export const maxCountedValues = 10_000;

/** The order in which limits are named that deny a request alike. */
const bounds = ["owner_cap", "user_cap", "tag_cap"] as const;
type ValueBound = (typeof bounds)[number];

export function boundOf(label: string): ValueBound {
  if (label === "owner") return "owner_cap";
  return label === "user" ? "user_cap" : "tag_cap";
}

/** Null without the label. */
export function labelValue(label: string, { owner, user, tags }: CallerLabels): string | null {
  if (label === "owner") return owner;
  if (label === "user") return user || null;
  const name = label.slice(tagPrefix.length);
  return (Object.hasOwn(tags, name) && tags[name]) || null;
}

const noTags: readonly string[] = [];
const nothingCounted: Omit<CapTotals, "no"> = { periodStartMs: 0, used: 0 };

/** A cap that counts each value of a label apart, or one of them. */
class ValueCap implements CapGroup {
  #record: ValueCapRecord;
  /** Shared by the caps that differ only in their value. */
  family: string;
  /** Values that count something, or have. */
  readonly #counters = new Map<string, Cap>();
  readonly #raises = new Map<string, ValueRaise>();
  /** What a value starts with. After others were forgotten, none goes back to a period before that. */
  #unknown = nothingCounted;
  /** Values in a shared database that are not among these. */
  others = { periodStartMs: 0, places: 0 };

  constructor(record: ValueCapRecord) {
    this.#record = record;
    this.family = familyOf(record);
  }

  get record(): ValueCapRecord {
    return this.#record;
  }

  set record(record: ValueCapRecord) {
    this.#record = record;
    this.family = familyOf(record);
    for (const counter of this.#counters.values()) counter.record = record;
  }

  get maxValues(): number {
    return this.#record.maxValues;
  }

  get stepDown(): StepDown | null {
    const { thenModel, thenAlways } = this.#record;
    return thenModel === null ? null : { model: thenModel, isAlways: thenAlways };
  }

  get counters(): ReadonlyMap<string, Cap> {
    return this.#counters;
  }

  /** Whether its counts are still right for this record. */
  isSame({ period, models }: ValueCapRecord): boolean {
    return this.#record.period === period && this.#record.models === models;
  }

  load(totals: ValueTotals, held = 0): void {
    const counter = this.#created(totals.value, totals, held);
    if (totals.extra > 0) counter.raise = totals;
    this.#counters.set(totals.value, counter);
  }

  /** Takes all counts from the store; nothing is reserved afterwards. */
  recount(all: readonly ValueTotals[]): void {
    this.#unknown = nothingCounted;
    const found = new Map(all.map((totals) => [totals.value, totals]));
    for (const [value, counter] of this.#counters) counter.recount(found.get(value) ?? nothingCounted);
    for (const totals of all) if (!this.#counters.has(totals.value)) this.load(totals);
  }

  raiseTo(raises: readonly ValueRaise[]): void {
    this.#raises.clear();
    for (const raise of raises) this.#raises.set(raise.value, raise);
    for (const [value, counter] of this.#counters) counter.raise = this.#raises.get(value) ?? notRaised;
  }

  counter(value: string): Cap {
    return this.#counters.get(value) ?? this.#created(value, this.#unknown, 0);
  }

  keep(counter: Cap): void {
    const value = counter.counted?.value ?? "";
    if (this.#counters.has(value)) return;
    // Twice as many as may count at once: then at least half of them count nothing.
    if (this.#counters.size >= 2 * this.maxValues) this.#forgetIdle(counter.periodStartMs);
    this.#counters.set(value, counter);
  }

  places(periodStartMs: number): number | null {
    if (this.#record.value !== null) return null;
    let places = this.others.periodStartMs === periodStartMs ? this.others.places : 0;
    for (const counter of this.#counters.values()) if (counter.isCounting(periodStartMs)) places += 1;
    return places;
  }

  /** Whether it counts what is billed so. */
  covers(mode: KeyMode, models: CountedModels): boolean {
    return this.#record.mode === mode && coversCounted(this.#record.models, models);
  }

  #created(value: string, totals: Omit<CapTotals, "no">, held: number): Cap {
    const { label } = this.#record;
    const counter = new Cap(this.#record, boundOf(label), totals, held, { value, label, group: this });
    const raise = this.#raises.get(value);
    if (raise !== undefined) counter.raise = raise;
    return counter;
  }

  #forgetIdle(periodStartMs: number): void {
    this.#unknown = { periodStartMs: Math.max(this.#unknown.periodStartMs, periodStartMs), used: 0 };
    for (const [value, counter] of this.#counters)
      if (counter.isIdle(periodStartMs)) this.#counters.delete(value);
  }
}

const notRaised = { extra: 0, extraPeriodMs: 0 };

/**
 * Caps that differ only in their value. A value with its own cap has its holds there, instead of in the cap for each
 * value.
 */
export function familyOf({ keyId, accountId, mode, label, period, models }: ValueCapRecord): string {
  return JSON.stringify([keyId, accountId, mode, label, period, models]);
}

const none: readonly Cap[] = [];

/** All caps by value, in memory. */
export class ValueCaps {
  readonly #byNo = new Map<number, ValueCap>();
  #each: readonly ValueCap[] = [];
  /** Caps of one value, by their label and value: there may be many. */
  #fixed: ReadonlyMap<string, ReadonlyMap<string | null, readonly ValueCap[]>> = new Map();
  /** By tag name: the keys and accounts within which it is counted; `''` means all. */
  readonly #tagScopes = new Map<string, Set<string>>();
  /** Families and values that have a cap of their own. */
  #replaced = new Set<string>();

  get isEmpty(): boolean {
    return this.#byNo.size === 0;
  }

  all(): Iterable<ValueCap> {
    return this.#byNo.values();
  }

  find(no: number): ValueCap | undefined {
    return this.#byNo.get(no);
  }

  /** Takes over operators' changes. Returns the new caps, which have to be counted. */
  set(records: readonly ValueCapRecord[], raises: readonly ValueRaise[]): readonly ValueCap[] {
    const added: ValueCap[] = [];
    const before = new Map(this.#byNo);
    this.#byNo.clear();
    for (const record of records) {
      const known = before.get(record.no);
      const cap = known?.isSame(record) === true ? known : new ValueCap(record);
      cap.record = record;
      cap.raiseTo(raises.filter(({ capNo }) => capNo === record.no));
      this.#byNo.set(record.no, cap);
      if (cap !== known) added.push(cap);
    }
    const all = [...this.#byNo.values()];
    this.#tagScopes.clear();
    for (const { record } of all) this.#countTag(record);
    const fixed = all.filter(({ record }) => record.value !== null);
    this.#each = inOrder(all.filter(({ record }) => record.value === null));
    const byLabel = Map.groupBy(fixed, ({ record }) => record.label);
    this.#fixed = new Map(
      [...byLabel].map(([label, caps]) => [label, Map.groupBy(caps, ({ record }) => record.value)]),
    );
    this.#replaced = new Set(fixed.map(({ record }) => familyOf(record) + record.value));
    return added;
  }

  #countTag({ label, keyId, accountId }: ValueCapRecord): void {
    if (!label.startsWith(tagPrefix)) return;
    const scopes = this.#tagScopes.getOrInsertComputed(label.slice(tagPrefix.length), () => new Set());
    scopes.add(keyId ?? accountId ?? "");
  }

  /** The counters of a hold or a charge. Without labels it falls under none: it is the gateway's own, or older than they are. */
  capsFor(item: ValuedItem, mode: KeyMode): readonly Cap[] {
    if (this.isEmpty || item.labels === null) return none;
    const labels = readLabels(item.labels);
    return this.#applying(item, mode, labels).flatMap((cap) => {
      const { record } = cap;
      const value = labelValue(record.label, labels) ?? (record.isOptional ? "" : null);
      if (value === null || (record.value !== null && record.value !== value)) return [];
      const counter = cap.counter(value);
      counter.isReplaced = record.value === null && this.#replaced.has(cap.family + value);
      return counter;
    });
  }

  /** A label that a request needs and lacks, because a cap counts each of its values; null if there is none. */
  missingLabel(item: ValuedItem, mode: KeyMode): string | null {
    if (this.isEmpty || item.labels === null) return null;
    const labels = readLabels(item.labels);
    const missing = this.#applying(item, mode, labels).find(
      ({ record: { value, label, isOptional } }) =>
        value === null && !isOptional && label !== "owner" && labelValue(label, labels) === null,
    );
    return missing?.record.label ?? null;
  }

  /** The names of tags that are counted for a key: its own tags take precedence over a client's. */
  countedTags({ keyId, accountId }: Pick<ValuedItem, "keyId" | "accountId">): readonly string[] {
    if (this.#tagScopes.size === 0) return noTags;
    return [...this.#tagScopes]
      .filter(([, scopes]) => scopes.has("") || scopes.has(keyId) || scopes.has(accountId))
      .map(([name]) => name);
  }

  /** In the order of their bounds. */
  #applying(item: ValuedItem, mode: KeyMode, labels: StoredLabels): readonly ValueCap[] {
    const models = { model: item.model, fallbackFrom: labels.fallbackFrom };
    const applies = (cap: ValueCap) =>
      isWithin(cap.record, item.keyId, item.accountId) && cap.covers(mode, models);
    const each = this.#each.filter(applies);
    const fixed = this.#fixedOf(labels).filter(applies);
    return fixed.length === 0 ? each : inOrder([...each, ...fixed]);
  }

  #fixedOf(labels: StoredLabels): readonly ValueCap[] {
    const found: ValueCap[] = [];
    for (const [label, byValue] of this.#fixed) found.push(...(byValue.get(labelValue(label, labels)) ?? []));
    return found;
  }
}

function inOrder(caps: readonly ValueCap[]): readonly ValueCap[] {
  const placeOf = ({ record }: ValueCap) => bounds.indexOf(boundOf(record.label));
  return caps.toSorted((one, other) => placeOf(one) - placeOf(other));
}

function isWithin(record: ValueCapRecord, keyId: string, accountId: string): boolean {
  if (record.keyId !== null) return record.keyId === keyId;
  return record.accountId === null || record.accountId === accountId;
}
