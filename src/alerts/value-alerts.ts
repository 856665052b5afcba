import { creditsFromNano } from "../base/money/money.ts";
import { nextPeriodStart } from "../base/money/period.ts";
import { tagPrefix } from "../base/requests/labels.ts";
import { count } from "../base/text/plural.ts";
import type { CapPlaces, DrawnValue } from "../store/store.ts";
import { type Alert, unsetAlertFields } from "./alert.ts";
import { levelOf, limitName, shareText, shortAmount } from "./limit-text.ts";

/** An alert about a value that has used much of its cap. */
export function valueAlert(drawn: DrawnValue, nowMs: number): Alert[] {
  const { capId, mode, label, value, used, limit, period, models } = drawn;
  const level = levelOf(used, limit);
  if (level === null) return [];
  const shown = (amount: number) => (mode === "credit" ? creditsFromNano(amount) : amount);
  const unit = mode === "credit" ? "credits" : "tokens";
  const resetsAtMs = nextPeriodStart(period, nowMs);
  const amounts = `${shortAmount(shown(used))} of ${shortAmount(shown(limit))} ${unit}`;
  const share = shareText(used, limit, level);
  const details = {
    level,
    value: value || null,
    limit: shown(limit),
    used: shown(used),
    unit,
    key: drawn.keyId,
    account: drawn.accountId,
    period,
    models,
    resets_at: resetsAtMs === null ? null : new Date(resetsAtMs).toISOString(),
  };
  return [
    {
      ...unsetAlertFields,
      kind: "cap_threshold",
      subject: { type: "cap", id: capId, label: nameOf(label, value) },
      part: value,
      level,
      text: `${nameOf(label, value)} has used ${share} its ${limitName("cap", period, models)}: ${amounts}.`,
      details,
    },
  ];
}

/** An alert about a cap that will soon count as many values as it may, and rejects the next ones. */
export function placesAlert({ capId, label, period, counted, maxValues, ...scope }: CapPlaces): Alert[] {
  const level = levelOf(counted, maxValues);
  if (level === null) return [];
  return [
    {
      ...unsetAlertFields,
      kind: "cap_values",
      subject: { type: "cap", id: capId, label: `each ${label}` },
      level,
      text: `The cap ${capId} counts ${count(counted)} of at most ${count(maxValues)} values of ${label}. It rejects new ones beyond that.`,
      details: {
        level,
        values: counted,
        most: maxValues,
        key: scope.keyId,
        account: scope.accountId,
        period,
      },
    },
  ];
}

/** Maximum length of a value in an alert: long ones come from clients. */
const maxShown = 64;

function nameOf(label: string, value: string): string {
  if (value === "") return `Traffic without a ${label}`;
  const short = value.length > maxShown ? `${value.slice(0, maxShown).toWellFormed()}…` : value;
  if (label === "owner") return `Owner ${short}`;
  return label === "user" ? `End user ${short}` : `Tag ${label.slice(tagPrefix.length)}=${short}`;
}
