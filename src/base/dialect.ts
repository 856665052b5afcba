/** The three wire formats. `chat` and `responses` are Format A of the interface, `messages` is Format B. */
export const dialectNames = ["chat", "responses", "messages"] as const;

export type DialectName = (typeof dialectNames)[number];
