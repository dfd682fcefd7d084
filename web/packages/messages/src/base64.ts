/** Base64 (RFC 4648, padded) to bytes and back, without `Buffer` or `atob`: alike in browsers and in Node. */

const SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const CODES = Uint8Array.from(SIGNS, (sign) => sign.charCodeAt(0));
const PAD = "=".charCodeAt(0);
/** Marks what is no base64 character: more than its six bits. */
const NONE = 255;
const VALUES = new Uint8Array(256).fill(NONE);
CODES.forEach((code, value) => (VALUES[code] = value));

/** The bytes that base64 text holds. Throws a TypeError where it is not base64. */
export function decodeBase64(text: string): Uint8Array {
  if (text.length % 4 !== 0) throw new TypeError("not valid base64: the padding is missing");
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  const whole = text.length - (padding > 0 ? 4 : 0);
  let place = 0;
  let all = 0;
  for (let index = 0; index < whole; index += 4) {
    const a = valueAt(text, index);
    const b = valueAt(text, index + 1);
    const c = valueAt(text, index + 2);
    const d = valueAt(text, index + 3);
    all |= a | b | c | d;
    bytes[place++] = (a << 2) | (b >> 4);
    bytes[place++] = (b << 4) | (c >> 2);
    bytes[place++] = (c << 6) | d;
  }
  if (padding > 0) {
    const a = valueAt(text, whole);
    const b = valueAt(text, whole + 1);
    const c = padding === 1 ? valueAt(text, whole + 2) : 0;
    all |= a | b | c;
    bytes[place++] = (a << 2) | (b >> 4);
    if (padding === 1) bytes[place] = (b << 4) | (c >> 2);
  }
  if (all > 63) throw new TypeError("not valid base64: a sign that does not belong there");
  return bytes;
}

function valueAt(text: string, index: number): number {
  const code = text.charCodeAt(index);
  return code < 256 ? VALUES[code]! : NONE;
}

/** The bytes as base64 text. */
export function encodeBase64(bytes: Uint8Array): string {
  const codes = new Uint8Array(Math.ceil(bytes.length / 3) * 4);
  let place = 0;
  for (let index = 0; index < bytes.length; index += 3) {
    const left = bytes.length - index;
    const three = (bytes[index]! << 16) | ((bytes[index + 1] ?? 0) << 8) | (bytes[index + 2] ?? 0);
    codes[place++] = CODES[three >> 18]!;
    codes[place++] = CODES[(three >> 12) & 63]!;
    codes[place++] = left > 1 ? CODES[(three >> 6) & 63]! : PAD;
    codes[place++] = left > 2 ? CODES[three & 63]! : PAD;
  }
  return new TextDecoder().decode(codes);
}
