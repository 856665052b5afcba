import { GatewayError, invalidRequest } from "../../base/errors.ts";
import { newId } from "../../base/id.ts";
import type { FileRecord } from "../../store/store.ts";
import type { AdmittedCall } from "../exchange/admitted-call.ts";
import { idempotencyKeyOf } from "../exchange/claims.ts";
import { FormParser, type PartHead, type PartTaker } from "../metered/form/form-parser.ts";
import { takePieces } from "../request/read-request.ts";
import { type InputFiles, InputWriter } from "./input-file.ts";
import { quotaError, rejectBeyondLimits } from "./limits.ts";
import { createdBefore, retryOf } from "./retried-creation.ts";
import { placeOfName, sealText } from "./sealed-text.ts";

const maxFieldBytes = 64 * 1024;
/** What breaks off is deleted after this time. */
const uploadMs = 3_600_000;

/** A form that is read from a client: its file is stored while it arrives. */
class Upload implements PartTaker {
  readonly fields: Record<string, string> = Object.create(null);
  readonly #writer: InputWriter;
  #part: { readonly head: PartHead; text: string } | null = null;
  #fieldBytes = 0;
  fileName: string | null = null;

  constructor(writer: InputWriter) {
    this.#writer = writer;
  }

  async begin(head: PartHead): Promise<void> {
    this.#part = { head, text: "" };
    if (head.fileName === null) return;
    if (head.name !== "file" || this.fileName !== null) {
      throw invalidRequest("Send one file, in the field `file`.", head.name);
    }
    this.fileName = head.fileName || "file";
  }

  async take(bytes: Uint8Array): Promise<void> {
    const part = this.#part;
    if (part === null) return;
    if (part.head.fileName === null) {
      this.#fieldBytes += bytes.length;
      if (this.#fieldBytes > maxFieldBytes) throw invalidRequest("The form's fields are too long.");
      part.text += Buffer.from(bytes).toString();
      return;
    }
    await this.#writer.write(bytes);
  }

  async end(): Promise<void> {
    if (this.#part?.head.fileName === null) this.fields[this.#part.head.name] = this.#part.text;
    this.#part = null;
  }
}

/** Throws, and deletes what was stored, if it breaks off or is not valid. `check` sees the form's fields. */
export async function receiveUpload(
  call: AdmittedCall,
  files: InputFiles,
  boundary: string,
  check: (fields: Readonly<Record<string, string>>) => Pick<FileRecord, "expiresAtMs">,
): Promise<StoredInput> {
  return storeInput(call, files, "file", async (writer) => {
    const upload = new Upload(writer);
    const parser = new FormParser(boundary, upload);
    const { call: client, signal } = call.exchange;
    await takePieces(client.request, signal, (piece) => parser.push(piece));
    parser.end();
    if (upload.fileName === null) throw invalidRequest("The form has no `file`.", "file");
    const { fileName: name, fields } = upload;
    const sent = [Object.entries(fields), name, writer.hash];
    return { kind: "batch", name: name.slice(0, 255), sent: JSON.stringify(sent), ...check(fields) };
  });
}

/** What a client has sent. */
interface ReceivedInput extends Pick<FileRecord, "name" | "expiresAtMs"> {
  /** The bodies of message batches are no files of the client's. */
  readonly kind: "batch" | "requests";
  /** What makes a request with the same `Idempotency-Key` a retry. */
  readonly sent: string;
}

/** A new input, or the id of what a request with the same `Idempotency-Key` has created. */
export type StoredInput = { readonly file: FileRecord } | { readonly before: string };

/** Stores an input that `receive` writes, in this field of the request. Clients cannot see it before it is complete. */
export async function storeInput(
  call: AdmittedCall,
  files: InputFiles,
  param: string,
  receive: (writer: InputWriter) => Promise<ReceivedInput>,
): Promise<StoredInput> {
  const { gateway, keyId } = call;
  if (gateway.storeProblem() !== null) {
    throw new GatewayError("service_unavailable", "The gateway cannot store files right now. Retry later.");
  }
  await rejectBeyondLimits(call);
  if (!gateway.uploads.tryEnter(keyId)) {
    const message = "This key has the maximum number of uploads in progress. Retry when one finishes.";
    throw new GatewayError("rate_limit_exceeded", message, { retryAfterSeconds: 5 });
  }
  try {
    return await storeAdmitted(call, files, param, receive);
  } finally {
    gateway.uploads.leave(keyId);
  }
}

async function storeAdmitted(
  call: AdmittedCall,
  files: InputFiles,
  param: string,
  receive: (writer: InputWriter) => Promise<ReceivedInput>,
): Promise<StoredInput> {
  const { exchange, keyId, configured } = call;
  const { bytesPerKeyBytes: bytesPerKey, filesPerKey, maxInputBytes: maxInput } = configured.settings.batches;
  const quota = { bytesPerKey, filesPerKey };
  const limits = {
    maxBytes: maxInput,
    tooLong: () => invalidRequest(`The input is too large: the maximum is ${maxInput} bytes.`, param),
    bytesPerKey,
    full: () => quotaError("bytes", quota),
  };
  const createdAtMs = Math.floor(exchange.atMs);
  const id = newId("file-");
  const begun = { id, keyId, name: "", bytes: 0, batchId: null, createdAtMs };
  const uploading = { ...begun, kind: "uploading", expiresAtMs: createdAtMs + uploadMs } as const;
  const problem = await files.records.begin(uploading, quota);
  if (problem !== null) throw quotaError(problem, quota);
  try {
    const writer = new InputWriter(files, id, limits, idempotencyKeyOf(exchange.call) !== null);
    const { sent, ...received } = await receive(writer);
    await writer.end();
    const before = await createdBefore(call, () => Bun.SHA256.hash(sent, "hex"));
    if (before !== null) {
      await files.records.delete(keyId, id);
      return { before };
    }
    const name = sealText(received.name, placeOfName(id), files.key);
    const file = { ...begun, ...received, name, bytes: writer.bytes };
    const retry = received.kind === "batch" ? await retryOf(call, id) : null;
    if (!(await files.records.complete(file, retry))) {
      throw invalidRequest("The upload took longer than an hour. Upload the file again.", param);
    }
    return { file };
  } catch (error) {
    // If this fails, too, it expires.
    await files.records.delete(keyId, id).catch(() => false);
    throw error;
  }
}
