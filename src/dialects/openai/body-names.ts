/** What requests of OpenAI's two dialects have in common. */
export const sharedTop: readonly string[] = [
  ...["model", "stream", "tools", "tool_choice", "service_tier", "store"],
  ...["metadata", "user", "safety_identifier", "prompt_cache_key"],
];
