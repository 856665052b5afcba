import type { Errand } from "./errand.ts";

/** What agent frameworks are sent on: two tools at once, then one alone, then the end. */
export const frameworkErrand: Errand = {
  inSequence: true,
  steps: [
    {
      says: "Let me look. 🔎",
      calls: [
        {
          call: { type: "call", id: "call_w1", name: "get_weather", input: { city: "Paris" } },
          expects: "18 degrees in Paris",
        },
        {
          call: { type: "call", id: "call_t2", name: "get_time", input: { city: "Paris" } },
          expects: "Paris: 14:05",
        },
      ],
    },
    {
      calls: [
        {
          call: { type: "call", id: "call_w3", name: "get_weather", input: { city: "Oslo" } },
          expects: "18 degrees in Oslo",
        },
      ],
    },
  ],
  farewell: "18 degrees in both, and it is five past two in Paris – né à 😀.",
  extraction: { type: "call", id: "call_place", name: "Place", input: { city: "Paris", degrees: 18 } },
};
