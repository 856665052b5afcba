import type { KeyMode } from "../base/key-attributes.ts";
import type { StepDown } from "../base/money/bound.ts";
import { type CallerLabels, type KeptLabels, readLabels, tagPrefix } from "../base/requests/labels.ts";
import type { CapTotals, ValueCapRecord, ValueRaise, ValueTotals } from "../store/store.ts";
import {
  Cap,
  type CapGroup,
  type CountedModels,
  countedModels,
  coversCounted,
  type LabelledItem,
} from "./cap.ts";

/** What is held or charged, and whose it is. */
export interface ValuedItem extends LabelledItem {
  readonly keyId: string;
  readonly accountId: string;
}

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
  return (label === "user" ? user : tags[label.slice(tagPrefix.length)]) || null;
}

const nothingCounted: Omit<CapTotals, "no"> = { periodStartMs: 0, used: 0 };

/** A cap that counts each value of a label apart, or one of them. */
class ValueCap implements CapGroup {
  #record: ValueCapRecord;
  /** Values that count something, or have. */
  readonly #counters = new Map<string, Cap>();
  readonly #raises = new Map<string, ValueRaise>();
  /** Values in a shared database that are not among these. */
  others = { periodStartMs: 0, places: 0 };

  constructor(record: ValueCapRecord) {
    this.#record = record;
  }

  get record(): ValueCapRecord {
    return this.#record;
  }

  set record(record: ValueCapRecord) {
    this.#record = record;
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
    return this.#counters.get(value) ?? this.#created(value, nothingCounted, 0);
  }

  keep(counter: Cap): void {
    const value = counter.counted?.value ?? "";
    if (this.#counters.has(value)) return;
    // Twice as many as may count at once: then at least half of them have ended with their period.
    if (this.#counters.size >= 2 * this.maxValues) this.#forgetEnded(counter.periodStartMs);
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
    const counter = new Cap(this.#record, boundOf(this.#record.label), totals, held, { value, group: this });
    const raise = this.#raises.get(value);
    if (raise !== undefined) counter.raise = raise;
    return counter;
  }

  #forgetEnded(periodStartMs: number): void {
    for (const [value, counter] of this.#counters)
      if (counter.periodStartMs < periodStartMs && counter.state().held === 0) this.#counters.delete(value);
  }
}

const notRaised = { extra: 0, extraPeriodMs: 0 };

/** Caps that differ in their value alone: for one value, its own holds in place of the one for each. */
export function familyOf({ keyId, accountId, mode, label, period, models }: ValueCapRecord): string {
  return JSON.stringify([keyId, accountId, mode, label, period, models]);
}

const none: readonly Cap[] = [];

/** All caps by value, in memory. */
export class ValueCaps {
  readonly #byNo = new Map<number, ValueCap>();
  #each: readonly ValueCap[] = [];
  /** Caps of one value, by their label and value: there may be many. */
  #fixed = new Map<string, readonly ValueCap[]>();
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

  /** Takes over what operators have changed. Returns the caps that have to be counted, because they are new. */
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
    const fixed = all.filter(({ record }) => record.value !== null);
    this.#each = all.filter(({ record }) => record.value === null);
    this.#fixed = Map.groupBy(fixed, ({ record: { label, value } }) => `${label} ${value}`);
    this.#replaced = new Set(fixed.map(({ record }) => familyOf(record) + record.value));
    return added;
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
      counter.isReplaced = record.value === null && this.#replaced.has(familyOf(record) + value);
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

  /** The names of tags that are counted for a key: its own tags stand there, whatever a client sends. */
  countedTags({ keyId, accountId }: Pick<ValuedItem, "keyId" | "accountId">): readonly string[] {
    return [...this.#byNo.values()]
      .filter(({ record }) => record.label.startsWith(tagPrefix) && isWithin(record, keyId, accountId))
      .map(({ record }) => record.label.slice(tagPrefix.length));
  }

  /** In the order of their bounds. */
  #applying(item: ValuedItem, mode: KeyMode, { owner, user, tags }: KeptLabels): readonly ValueCap[] {
    const models = countedModels(item);
    const fixed = (label: string, value: string | null) => this.#fixed.get(`${label} ${value}`) ?? [];
    const ofTags = Object.entries(tags).flatMap(([name, value]) => fixed(tagPrefix + name, value));
    return [...this.#each, ...fixed("owner", owner), ...fixed("user", user), ...ofTags]
      .filter((cap) => isWithin(cap.record, item.keyId, item.accountId) && cap.covers(mode, models))
      .toSorted(
        (one, other) =>
          bounds.indexOf(boundOf(one.record.label)) - bounds.indexOf(boundOf(other.record.label)),
      );
  }
}

function isWithin(record: ValueCapRecord, keyId: string, accountId: string): boolean {
  if (record.keyId !== null) return record.keyId === keyId;
  return record.accountId === null || record.accountId === accountId;
}
