export const reasonKinds = [
  "cancelled",
  "failed",
  "interrupted",
  "estimated",
  "uncharged",
  "past_the_gateway",
  "not_billed",
  "other_figures",
  "prices",
] as const;
export type ReasonKind = (typeof reasonKinds)[number];
