/** An assistant message of the current turn, as Anthropic checks it. */
export interface ClaudeStep {
  /** Whether it starts with thinking that Anthropic has signed. */
  readonly startsThinking: boolean;
  readonly callIds: readonly string[];
}

/** The ids that Anthropic, Vertex (`toolu_`) and Bedrock (`tooluse_`) give to Claude's calls. */
const claudesCallId = /^toolu(?:se)?_/;

/**
 * Whether a turn has to continue without a thinking budget: "When `thinking` is enabled, a final `assistant` message must
 * start with a thinking block". That is checked at every step, and other models' steps have none. Claude itself may
 * omit it after its first step, and continues such a turn with thinking: disabling it there would only lose the prompt cache.
 */
export function mustNotThink(steps: readonly ClaudeStep[]): boolean {
  return steps.some((step, index) => !step.startsThinking && (index === 0 || !isClaudes(step)));
}

function isClaudes({ callIds }: ClaudeStep): boolean {
  return callIds.length > 0 && callIds.every((id) => claudesCallId.test(id));
}
