import { describe, expect, test } from "bun:test";
import { isWav, secondsOf } from "../../../src/dialects/metered/transcriptions/sound.ts";

const bytes = 1_800_000;

function file(start: Uint8Array | string, size = bytes) {
  return [{ field: "file", bytes: size, start: Buffer.from(start as string, "latin1") }];
}

/** The start of a FLAC file, mono with 16 bits. */
function flac(perSecond: number, samples: number): Buffer {
  const start = Buffer.alloc(42);
  start.write("fLaC\0\0\0\x22", "latin1");
  start.writeUIntBE((perSecond << 4) >>> 0, 18, 3);
  start.writeUIntBE(0xf0 * 2 ** 32 + samples, 21, 5);
  return start;
}

const ogg = (codec: string) => `OggS${"\0".repeat(24)}${codec}`;

describe("the length of sound", () => {
  test.each([
    ["MP3", "ID3", 1000, 16_000],
    ["anything else", "\0\0\0\0", 1000, 16_000],
    ["Vorbis", ogg("\x01vorbis"), 1000, 16_000],
    ["Opus", ogg("OpusHead"), 500, 4000],
    ["Speex", ogg("Speex   "), 500, 2000],
    ["AMR", "#!AMR\n", 500, 1600],
    ["FLAC", "fLaC", 500, 16_000],
    ["WebM", "\x1aE\xdf\xa3", 500, 16_000],
    ["MP4", "\0\0\0\x20ftypM4A ", 500, 16_000],
    ["compressed WAV", "RIFF\0\0\0\0WAVEfmt ", 500, 16_000],
    ["a kind that does not show", "", 500, 16_000],
  ])("of %s follows from its lowest rate and its usual one", (_, start, least, usual) => {
    expect(secondsOf(file(start), "least")).toBe(bytes / least);
    expect(secondsOf(file(start), "usual")).toBe(bytes / usual);
    expect(secondsOf([...file(start), ...file(start)], "least")).toBe((bytes / least) * 2);
    expect(secondsOf(file(start, 2 ** 30), "least")).toBe((2 ** 20 * 25) / least);
    expect(isWav(file(start))).toBe(false);
  });

  test.each([16_000, 44_100, 655_350])(
    "of silent FLAC is what it declares, at %p samples a second",
    (rate) => {
      const silent = file(flac(rate, rate * 36_000));
      expect(secondsOf(silent, "least")).toBe(36_000);
      expect(secondsOf(silent, "usual")).toBe(36_000);
    },
  );

  test("of FLAC is not less than its size says, nor more than any file's", () => {
    for (const lying of [flac(16_000, 1), flac(16_000, 0), flac(0, 16_000)]) {
      expect(secondsOf(file(lying), "least")).toBe(3600);
      expect(secondsOf(file(lying), "usual")).toBe(112.5);
    }
    const endless = file(flac(1, 2 ** 36 - 1));
    expect(secondsOf(endless, "usual")).toBe((2 ** 20 * 25) / 500);
  });
});
