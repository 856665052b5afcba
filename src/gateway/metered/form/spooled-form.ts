import { type FileHandle, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { invalidRequest } from "../../../base/errors.ts";
import { newId } from "../../../base/id.ts";
import type { Json, JsonObject } from "../../../base/json.ts";
import type { FormFile } from "../../../dialects/metered/route.ts";
import { isReadAsGoverned } from "../../../dialects/names/governed-names.ts";
import type { BodyReservation } from "../../../limits/body-budget.ts";
import type { FileBody } from "../../../vendors/provider.ts";
import type { PartHead, PartTaker } from "./form-parser.ts";

const maxFields = 128;
const maxFieldBytes = 1024 * 1024;
const maxFiles = 32;
/** Enough for the header that has the duration of the audio. */
const maxStartBytes = 64 * 1024;
/** Some audio formats have their tables at the end. The tables of an MP4 file have four bytes for each frame: 90 minutes. */
const maxEndBytes = 1024 * 1024;

interface OpenFile {
  readonly head: PartHead;
  readonly hash: Bun.CryptoHasher;
  readonly start: Uint8Array[];
  bytes: number;
}

/**
 * A form that was read from a client: its fields in memory, its files on disk, laid out as the form that providers are sent. The
 * model is its last part, so that each deployment gets its own name for it.
 */
export class SpooledForm implements PartTaker, AsyncDisposable {
  /** Without a prototype, which has its own names. */
  readonly fields: Record<string, Json> = Object.create(null);
  readonly files: FormFile[] = [];
  /** Null if the open file has no path. */
  readonly #path: string | null;
  readonly #boundary = newId("sluice-");
  readonly #handle: FileHandle;
  readonly #reservation: BodyReservation;
  /** All parts, files by their digests, without the boundary: the same parts are the same request. */
  readonly #digests: (readonly (string | null)[])[] = [];
  #length = 0;
  #fieldBytes = 0;
  #field: { readonly name: string; readonly pieces: Uint8Array[] } | null = null;
  #file: OpenFile | null = null;

  private constructor(path: string | null, handle: FileHandle, reservation: BodyReservation) {
    this.#path = path;
    this.#handle = handle;
    this.#reservation = reservation;
  }

  static async create(reservation: BodyReservation): Promise<SpooledForm> {
    const path = join(tmpdir(), newId("sluice-form-"));
    const handle = await open(path, "wx+", 0o600);
    if (process.platform !== "linux") return new SpooledForm(path, handle, reservation);
    // There an open file can be read without a path, and nothing of it is left after a crash.
    await rm(path);
    return new SpooledForm(null, handle, reservation);
  }

  async begin(head: PartHead): Promise<void> {
    if (head.fileName === null) {
      this.#field = { name: head.name, pieces: [] };
      return;
    }
    if (isReadAsGoverned(head.name)) {
      throw invalidRequest(`\`${head.name}\` must be a form field, not a file.`, head.name);
    }
    if (this.files.length >= maxFiles) throw invalidRequest(`A form can have at most ${maxFiles} files.`);
    this.#file = { head, hash: new Bun.CryptoHasher("sha256"), start: [], bytes: 0 };
    const type = `content-type: ${head.contentType ?? "application/octet-stream"}\r\n`;
    // Some servers take a file without a name for a field.
    const fileName = escaped(head.fileName || head.name);
    await this.#write(this.#headOf(head.name, `; filename="${fileName}"`, type));
  }

  async take(bytes: Uint8Array): Promise<void> {
    const file = this.#file;
    if (file === null) {
      this.#fieldBytes += bytes.length;
      if (this.#fieldBytes > maxFieldBytes) throw invalidRequest("The form's fields are too long.");
      this.#field?.pieces.push(Buffer.from(bytes));
      return;
    }
    // Sound comes alone, and the starts and ends of many files would take much memory.
    const missing = this.files.length === 0 ? maxStartBytes - Math.min(file.bytes, maxStartBytes) : 0;
    if (missing > 0) file.start.push(Buffer.from(bytes.subarray(0, missing)));
    file.bytes += bytes.length;
    file.hash.update(bytes);
    await this.#write(bytes);
  }

  async end(): Promise<void> {
    if (this.#file !== null) return this.#endFile(this.#file);
    const { name, pieces } = this.#field ?? { name: "", pieces: [] };
    this.#addField(name, Buffer.concat(pieces).toString());
    this.#field = null;
  }

  async #endFile({ head, hash, start, bytes }: OpenFile): Promise<void> {
    this.#file = null;
    const end = await this.#lastBytes(this.files.length === 0 ? Math.min(bytes, maxEndBytes) : 0);
    await this.#write("\r\n");
    this.files.push({ field: head.name, bytes, start: Buffer.concat(start), end });
    this.#digests.push(["file", head.name, head.fileName, head.contentType, hash.digest("hex")]);
  }

  async #lastBytes(count: number): Promise<Uint8Array> {
    const { buffer } = await this.#handle.read(new Uint8Array(count), 0, count, this.#length - count);
    return buffer;
  }

  /** Repeated fields, such as `include[]`, are lists. */
  #addField(name: string, value: string): void {
    const before = this.fields[name];
    if (before === undefined) this.fields[name] = value;
    else this.fields[name] = Array.isArray(before) ? [...before, value] : [before, value];
    this.#digests.push(["field", name, value]);
    if (this.#digests.length > maxFields) throw invalidRequest(`A form can have at most ${maxFields} parts.`);
  }

  /** Its fields, and the digests of its files. */
  described(): JsonObject {
    const files = this.#digests.filter(([kind]) => kind === "file");
    const described = files.map(([, field, , type, sha256], place) => [
      field ?? "",
      {
        type: type ?? "application/octet-stream",
        bytes: this.files[place]?.bytes ?? 0,
        sha256: sha256 ?? "",
      },
    ]);
    const together = Object.groupBy(described, ([field]) => String(field));
    const listed = Object.entries(together).map(([field, all = []]) => {
      const values = all.map(([, file]) => file as JsonObject);
      return [field, values.length === 1 ? values[0] : values] as const;
    });
    return { ...this.fields, ...Object.fromEntries(listed) };
  }

  /** The hash of all parts, to recognize a retry. */
  get bodyHash(): string {
    return Bun.SHA256.hash(JSON.stringify(this.#digests), "hex");
  }

  /** Writes the fields after the files. */
  async finish(): Promise<void> {
    for (const [name, value] of Object.entries(this.fields)) {
      if (name === "model") continue;
      for (const each of Array.isArray(value) ? value : [value]) {
        await this.#write(`${this.#headOf(name, "", "")}${String(each)}\r\n`);
      }
    }
  }

  /** The form for a provider, with its name for the model. */
  async bodyFor(model: string): Promise<FileBody> {
    const end = Buffer.from(`${this.#headOf("model", "", "")}${model}\r\n--${this.#boundary}--\r\n`);
    await this.#handle.truncate(this.#length);
    await this.#handle.write(end, 0, end.length, this.#length);
    const path = this.#path ?? `/proc/self/fd/${this.#handle.fd}`;
    return { path, contentType: `multipart/form-data; boundary=${this.#boundary}` };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
    if (this.#path !== null) await rm(this.#path, { force: true });
    this.#reservation.release();
  }

  #headOf(name: string, more: string, type: string): string {
    return `--${this.#boundary}\r\ncontent-disposition: form-data; name="${name}"${more}\r\n${type}\r\n`;
  }

  async #write(piece: Uint8Array | string): Promise<void> {
    const bytes = typeof piece === "string" ? Buffer.from(piece) : piece;
    await this.#handle.write(bytes, 0, bytes.length, this.#length);
    this.#length += bytes.length;
  }
}

/**
 * Browsers write a quote as `%22`. So is everything written here by which some server ends the name: those that honour `\"`, those
 * that split at every semicolon, and those that know more line ends than others.
 */
function escaped(fileName: string): string {
  return fileName.replace(/[\\";\p{Cc}\p{Zl}\p{Zp}]/gu, encodeURIComponent);
}
