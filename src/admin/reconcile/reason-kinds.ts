export const reasonKinds = [
  "cancelled",
  "failed",
  "interrupted",
  "estimated",
  "uncharged",
  "outside_gateway",
  "not_billed",
  "usage_mismatch",
  "price_mismatch",
] as const;
export type ReasonKind = (typeof reasonKinds)[number];
