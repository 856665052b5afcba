import { dlopen, FFIType, ptr } from "bun:ffi";

/**
 * What Linux knows of the bytes that were written to a TCP connection, of which Bun tells nothing. It is asked only
 * when a server closes a kept connection just after a request was put on it.
 */

/** tcp(7), SIOCOUTQ: bytes written that the peer has not acknowledged. */
const sendQueueRequest = 0x5411;
/** getsockopt(2): IPPROTO_TCP and TCP_INFO, whose first byte is the state; 7 is TCP_CLOSE. */
const tcpLevel = 6;
const tcpInfoOption = 11;
const closedState = 7;
/** fcntl(2), F_DUPFD_CLOEXEC. */
const duplicateCommand = 1030;
const pollMs = 2;

/** Of GNU's and of musl's systems. */
const libraryNames = ["libc.so.6", "libc.musl-x86_64.so.1", "libc.musl-aarch64.so.1"];

const { i32, u64, ptr: pointer } = FFIType;
const signatures = {
  ioctl: { args: [i32, u64, pointer], returns: i32 },
  getsockopt: { args: [i32, i32, i32, pointer, pointer], returns: i32 },
  fcntl: { args: [i32, i32, i32], returns: i32 },
  close: { args: [i32], returns: i32 },
} as const;
type Library = ReturnType<typeof dlopen<typeof signatures>>["symbols"];

const queued = new Int32Array(1);
const info = new Uint8Array(1);
const infoLength = new Uint32Array(1);
let library: Library | null | undefined;

/**
 * A connection whose server has closed its side, kept from being forgotten by the kernel. A server's close
 * acknowledges what it had received by then. If nothing of a request is among that, and what was sent is answered with a
 * reset because nobody is there to receive it, then nobody has read any of it. A server that closes only its own
 * side may read on: then there is no reset.
 */
export class ClosedConnection {
  readonly #library: Library;
  readonly #descriptor: number;
  readonly #sentBytes: number;
  #isReleased = false;

  private constructor(calls: Library, descriptor: number, sentBytes: number) {
    this.#library = calls;
    this.#descriptor = descriptor;
    this.#sentBytes = sentBytes;
  }

  /**
   * To be called while the socket is still open; null where the system cannot tell. Bun's sockets have a descriptor,
   * which its types do not mention.
   */
  static of(socket: object, sentBytes: number): ClosedConnection | null {
    if (!("fd" in socket) || typeof socket.fd !== "number") return null;
    library ??= loadLibrary();
    if (library === null) return null;
    const descriptor = library.fcntl(socket.fd, duplicateCommand, 0);
    return descriptor < 0 ? null : new ClosedConnection(library, descriptor, sentBytes);
  }

  /** Whether it is certain, by this time, that nobody has received any of the bytes. To be asked once. */
  async receivedNothing(deadlineMs: number): Promise<boolean> {
    try {
      while (!this.#isReleased && this.#hasAllUnacknowledged()) {
        if (this.#isReset()) return true;
        if (performance.now() >= deadlineMs) return false;
        await Bun.sleep(pollMs);
      }
      return false;
    } finally {
      this.release();
    }
  }

  /** Nobody wants to know any more. */
  release(): void {
    if (!this.#isReleased) this.#library.close(this.#descriptor);
    this.#isReleased = true;
  }

  /** Under TLS more bytes are sent than were written, but less of them than would make a whole record. */
  #hasAllUnacknowledged(): boolean {
    if (this.#library.ioctl(this.#descriptor, sendQueueRequest, ptr(queued)) !== 0) return false;
    return (queued[0] ?? 0) >= this.#sentBytes;
  }

  #isReset(): boolean {
    infoLength[0] = info.length;
    const { getsockopt } = this.#library;
    const result = getsockopt(this.#descriptor, tcpLevel, tcpInfoOption, ptr(info), ptr(infoLength));
    return result === 0 && info[0] === closedState;
  }
}

function loadLibrary(): Library | null {
  if (process.platform !== "linux") return null;
  for (const name of libraryNames) {
    try {
      return dlopen(name, signatures).symbols;
    } catch {
      // Another one of the names is this system's.
    }
  }
  return null;
}
