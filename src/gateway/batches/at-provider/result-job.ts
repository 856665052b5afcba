import type { ProviderBatches, ProviderResult } from "../../../vendors/batches.ts";
import type { ProviderSettings } from "../../../vendors/provider.ts";
import { vendorOf } from "../../../vendors/registry.ts";
import type { Job } from "../../body-worker/job.ts";
import { isLargeBody, joinPieces } from "../../body-worker/large-body.ts";
import type { Gateway } from "../../exchange/gateway.ts";

interface ResultInput {
  readonly kind: ProviderSettings["kind"];
  readonly line: Uint8Array;
}

export const resultJob: Job<ResultInput, ProviderResult | null> = {
  name: "result",
  run: ({ kind, line }) => vendorOf(kind).batches?.readResult(line) ?? null,
};

/** The results of a provider's batch that can be read. One may be 72 MB long. */
export async function* readResults(
  { largeBodies }: Pick<Gateway, "largeBodies">,
  api: ProviderBatches,
  id: string,
): AsyncGenerator<ProviderResult> {
  for await (const pieces of api.results(id)) {
    const line = await joinPieces(pieces);
    const input = { kind: api.kind, line };
    const isLarge = isLargeBody(line);
    const result = isLarge ? await largeBodies.runResponse(resultJob, input) : resultJob.run(input);
    if (result !== null) yield result;
  }
}
