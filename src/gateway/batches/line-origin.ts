import type { Clock } from "../../base/clock.ts";
import { msPerDay } from "../../base/clock.ts";
import { GatewayError, invalidRequest } from "../../base/errors.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import type { ModelSettings } from "../../config/settings.ts";
import { renderError } from "../../dialects/errors/envelope.ts";
import type { Claim, Claims } from "../../idempotency/claims.ts";
import { wasNotKept } from "../../idempotency/recorder.ts";
import type { StoredResponse } from "../../store/store.ts";
import type { GenerationPlan, OpenedCall } from "../../upstream/upstream.ts";
import type { ActiveConfig } from "../active-config.ts";
import { largeBodyBytes } from "../body-worker/large-body.ts";
import { type HeldRequest, Origin, type RecordedRequest } from "../exchange/origin.ts";
import { rejectInBatch } from "../request/model.ts";
import { bodyPieces } from "../turns/turn-body.ts";
import {
  type LineSender,
  leaveToProvider,
  openReturned,
  type ReturnedLine,
} from "./at-provider/line-at-provider.ts";

interface LineOfBatch {
  readonly batchId: string;
  readonly no: number;
}

/** What its provider has to do with a line: neither member if it runs here. */
export interface LineAtProviderParts {
  /** Sends it to a provider that runs batches itself. */
  readonly sender?: LineSender;
  /** Its result, if it ran at a provider. */
  readonly returned?: ReturnedLine;
}

/** A line of a batch. Its Idempotency-Key is the number of the line, so that it is charged once. */
export class LineOrigin extends Origin {
  override readonly isInteractive = false;
  override readonly isDeferred = true;
  override readonly earlier: ReturnedLine | null;
  override readonly labels: Readonly<Record<string, string>>;
  override readonly claimPlace: string;
  readonly #line: LineOfBatch;
  readonly #sender: LineSender | null;

  constructor(line: LineOfBatch, { sender, returned }: LineAtProviderParts = {}) {
    super();
    this.#line = line;
    this.#sender = sender ?? null;
    this.earlier = returned ?? null;
    this.labels = { batch: line.batchId };
    this.claimPlace = `batch:${line.batchId}`;
  }

  override rejectForm(form: "stream" | "background"): void {
    throw invalidRequest(`\`${form}: true\` is not supported in batches. Remove it.`, form);
  }

  override rejectModel(model: ModelSettings): void {
    rejectInBatch(model);
  }

  override async takeOver(held: HeldRequest): Promise<boolean> {
    return this.#sender !== null && (await leaveToProvider(held, this.#sender));
  }

  override open(asking: GenerationPlan, configured: ActiveConfig, clock: Clock): Promise<OpenedCall> {
    const { earlier } = this;
    return earlier === null
      ? super.open(asking, configured, clock)
      : openReturned(asking, earlier, configured, clock.wallMs());
  }

  override record(
    claims: Claims,
    request: RecordedRequest,
    claim: Claim,
    body: Uint8Array,
  ): Promise<StoredResponse> {
    return this.#recordResult(claims, request, claim, 200, body);
  }

  /** It must not run again. */
  override async recordError(
    claims: Claims,
    request: RecordedRequest,
    error: GatewayError,
  ): Promise<StoredResponse | null> {
    const { claim } = request.taken;
    if (claim === null) return null;
    const { body, status } = renderError(request.call.route.errors, error, request.id);
    return this.#recordResult(claims, request, claim, status, Buffer.from(body));
  }

  /** Results are downloaded with the id of the request that was charged for them, for as long as the batch is kept. */
  async #recordResult(
    claims: Claims,
    { id, configured, taken }: RecordedRequest,
    claim: Claim,
    status: number,
    body: Uint8Array,
  ): Promise<StoredResponse> {
    const { batches, responses } = configured.settings;
    const recorder = claims.recordResult(claim, batches.windowMs + (batches.resultDays + 1) * msPerDay);
    taken.recorder = recorder;
    for (const piece of bodyPieces(nameOfResult(this.#line), [body], responses.encryptionKey)) {
      for (let at = 0; at < piece.length; at += largeBodyBytes) {
        if (at > 0) await bodyPacer.wait();
        recorder.append(piece.subarray(at, at + largeBodyBytes));
      }
    }
    const isTooLong = !recorder.isKept;
    const stored = await recorder.finish({ status, headers: { "x-request-id": id } });
    // What cannot be downloaded is not charged.
    if (isTooLong) throw new GatewayError("upstream_error", "The response is too long to be stored.");
    if (stored === null || wasNotKept(stored)) {
      throw new GatewayError("service_unavailable", "The result cannot be stored at the moment.");
    }
    return stored;
  }
}

/** What a result is encrypted as. */
export function nameOfResult({ batchId, no }: LineOfBatch): string {
  return `${batchId} ${no}`;
}
