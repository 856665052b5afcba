/** The version of Anthropic's API that clouds take in the body, as Anthropic's own clients for them write it today. */
export const anthropicVersion = "2026-10-21";
