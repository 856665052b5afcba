import { type Rates, readRates } from "../../../base/money/rates.ts";
import { readLabels } from "../../../base/requests/labels.ts";
import { Decimal } from "../../../base/text/csv.ts";
import type { AccountRecord, KeyRecord, ListedEntry } from "../../../store/store.ts";
import type { FocusColumn } from "./columns.ts";
import { decimalText } from "./decimal.ts";
import { type Meter, metersOf, shares } from "./meters.ts";
import { modelDetails } from "./model-details.ts";

export interface FocusContext {
  readonly key: KeyRecord | null;
  readonly account: Pick<AccountRecord, "label"> | null;
  readonly microUsdPerCredit: number;
}

/** The cells of a row by their column. A cell that is missing is null. */
export type FocusRow = Readonly<Partial<Record<FocusColumn, string | Decimal | null | object>>>;

/** The gateway sells what the providers of the models publish. */
const issuer = "Sluice";
const msPerSecond = 1_000;
/** Nano-credits times micro-USD a credit. */
const costDecimals = 15;

/**
 * An entry as rows of FOCUS: one for each price of a charge, one for any other entry. The sum of `x_Credits` is the entry's
 * amount with the opposite sign, because FOCUS counts what a customer owes. Amounts in tokens are not billed.
 */
export function focusRows(entry: ListedEntry, context: FocusContext): readonly FocusRow[] {
  const isBilled = context.key?.mode !== "token_budget" && !(entry.kind === "overrun" && entry.amount > 0);
  const nano = isBilled ? BigInt(-entry.amount) : 0n;
  const shared = sharedCells(entry, context);
  if (entry.kind !== "charge") return [{ ...shared, ...unmetered(entry, nano, context) }];
  const rates = entry.rates === null ? null : readRates(entry.rates);
  const meters = rates === null ? [] : metersOf(rates, entry.quantities ?? {});
  if (rates === null || meters.length === 0) return [{ ...shared, ...wholeRequest(entry, nano, context) }];
  const parts = shares(
    nano,
    meters.map(({ weight }) => weight),
  );
  return meters.map((meter, index) => ({
    ...shared,
    ...billed(parts[index] ?? 0n, context),
    ...metered(entry, meter, rates),
  }));
}

function billed(nano: bigint, { microUsdPerCredit }: FocusContext): FocusRow {
  const cost = new Decimal(decimalText(nano * BigInt(microUsdPerCredit), costDecimals));
  return { BilledCost: cost, EffectiveCost: cost, x_Credits: new Decimal(decimalText(nano, 9)) };
}

/** Top-ups, adjustments and overruns. Credit lowers what is owed; the specification has no price or quantity for it. */
function unmetered({ kind, note }: ListedEntry, nano: bigint, context: FocusContext): FocusRow {
  const amounts = billed(nano, context);
  return {
    ...amounts,
    ContractedCost: amounts.BilledCost ?? null,
    ListCost: amounts.BilledCost ?? null,
    ChargeCategory: kind === "topup" ? "Credit" : "Adjustment",
    ChargeDescription: note ?? kind,
    ChargeFrequency: "One-Time",
    PublisherName: issuer,
    ServiceCategory: "Other",
    ServiceName: "Account",
    ServiceSubcategory: "Other (Other)",
  };
}

/** A charge without the quantities of its prices: from before they were recorded, or without any. */
function wholeRequest(entry: ListedEntry, nano: bigint, context: FocusContext): FocusRow {
  const amounts = billed(nano, context);
  const cost = amounts.BilledCost instanceof Decimal ? amounts.BilledCost.text : "0.0";
  const meter = { name: "request", model: null, unit: "Requests", quantity: "1.0", unitPrice: cost, cost };
  return { ...amounts, ...metered(entry, meter, { tiers: [], inputAbove: null }) };
}

function metered(
  entry: ListedEntry,
  { name, model, unit, quantity, unitPrice, cost }: Omit<Meter, "weight">,
  { tiers, inputAbove }: Pick<Rates, "tiers" | "inputAbove">,
): FocusRow {
  const id = model ?? entry.chained.upstream_model ?? entry.model ?? "unknown";
  const details = modelDetails(id);
  const provider = entry.provider ?? issuer;
  const sku = `${provider}/${id}/${name}`;
  const above = inputAbove === null ? [] : [`input-above-${inputAbove}`];
  return {
    ChargeCategory: "Usage",
    ChargeDescription: `${name} of ${id}`,
    ChargeFrequency: "Usage-Based",
    ConsumedQuantity: new Decimal(quantity),
    ConsumedUnit: unit,
    ContractedCost: new Decimal(cost),
    ContractedUnitPrice: new Decimal(unitPrice),
    ListCost: new Decimal(cost),
    ListUnitPrice: new Decimal(unitPrice),
    PricingCategory: "Standard",
    PricingQuantity: new Decimal(quantity),
    PricingUnit: unit,
    PublisherName: details.ModelDeveloper ?? provider,
    ResourceId: entry.model ?? id,
    ResourceName: entry.model ?? id,
    ResourceType: "Model",
    ServiceCategory: "AI and Machine Learning",
    ServiceName: provider,
    ServiceSubcategory: "Generative AI",
    SkuId: sku,
    SkuMeter: name,
    SkuPriceDetails: {
      ...details,
      ...(tiers.length === 0 ? {} : { x_Tiers: tiers.join(",") }),
      ...(inputAbove === null ? {} : { x_InputAbove: inputAbove }),
    },
    SkuPriceId: [sku, ...tiers, ...above].join("@"),
  };
}

function sharedCells(entry: ListedEntry, { key, account }: FocusContext): FocusRow {
  const at = new Date(entry.atMs);
  const { owner, user, session, tags } = readLabels(entry.chained.labels);
  return {
    BillingAccountId: entry.accountId,
    BillingAccountName: account?.label ?? null,
    BillingAccountType: "Account",
    BillingCurrency: "USD",
    BillingPeriodStart: toSecond(Date.UTC(at.getUTCFullYear(), at.getUTCMonth())),
    BillingPeriodEnd: toSecond(Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1)),
    ChargePeriodStart: toSecond(entry.atMs),
    ChargePeriodEnd: toSecond(entry.atMs + msPerSecond),
    // The statement of the month.
    InvoiceId: `${entry.accountId}/${at.toISOString().slice(0, 7)}`,
    InvoiceIssuerName: issuer,
    ProviderName: issuer,
    SubAccountId: entry.keyId,
    SubAccountName: key?.label ?? null,
    SubAccountType: entry.keyId === null ? null : "Key",
    Tags: Object.keys(tags).length === 0 ? null : tags,
    x_EntryId: String(entry.id),
    x_EntryKind: entry.kind,
    x_KeyPrefix: key?.prefix ?? null,
    x_Owner: owner,
    x_User: user,
    x_Session: session,
    x_Provider: entry.provider,
    x_RequestId: entry.exchangeId,
    x_RequestedModel: entry.requestedModel ?? entry.model,
    x_Outcome: entry.outcome,
    x_Basis: entry.basis,
    x_Reference: entry.reference,
    x_Note: entry.note,
  };
}

function toSecond(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
