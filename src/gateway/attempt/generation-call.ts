import { type ClientDialectName, clientDialect } from "../../dialects/registry.ts";
import type { Deployment, GenerationPlan, ReceivedBytes } from "../../upstream/upstream.ts";
import type { PreparedRequest } from "../../vendors/provider.ts";
import { recordUpstream } from "../exchange/content.ts";
import { conversationHash } from "../request/labels.ts";
import type { Attempt } from "./attempt.ts";
import type { Generation } from "./generation.ts";
import { prepareAttempt } from "./prepare.ts";
import { ProviderCall } from "./provider-call.ts";

/** Asks providers for a generation, attempt after attempt. */
export class GenerationCall extends ProviderCall implements GenerationPlan {
  readonly generation: Generation;
  readonly clientDialect: ClientDialectName;
  readonly stream: boolean;
  /** The last attempt. */
  attempt: Attempt | null = null;
  /** Whether reasoning of earlier turns is sent with its signature. */
  #sendsSignatures = true;
  #conversation: number | null = null;

  constructor(generation: Generation) {
    super(generation.call);
    this.generation = generation;
    this.clientDialect = generation.clientDialect;
    this.stream = generation.stream;
  }

  get conversation(): number | null {
    if (this.model.affinity === "none") return null;
    this.#conversation ??= conversationHash(this.keyId, this.call.session, this.generation.request);
    return this.#conversation;
  }

  async prepare(deployment: Deployment): Promise<PreparedRequest> {
    const { attempt, body } = await prepareAttempt(this.generation, deployment, this.#sendsSignatures);
    this.attempt = attempt;
    this.exchange.content?.prepareUpstream(attempt.translation === null ? null : body, attempt.dialect);
    return attempt.requestWith(body);
  }

  dropSignatures(): boolean {
    const { stripSignedReasoning: strip } = clientDialect(this.clientDialect);
    const { truncated } = this.generation.request;
    const mayLeaveOut = this.#sendsSignatures && strip !== null && strip(truncated) !== truncated;
    if (mayLeaveOut) this.#sendsSignatures = false;
    return mayLeaveOut;
  }

  failedWith(body: ReceivedBytes): void {
    const { content } = this.exchange;
    if (content?.hasUpstream === true) recordUpstream(content, body);
  }
}
