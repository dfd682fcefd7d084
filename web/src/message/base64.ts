/** Base64 (RFC 4648, padded) to bytes and back, without `Buffer` or `atob`: alike in browsers and in Node. */

const SIGNS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const CODES = Uint8Array.from(SIGNS, (sign) => sign.charCodeAt(0));
const VALUES = new Uint8Array(256).fill(255);
CODES.forEach((code, value) => (VALUES[code] = value));
const PAD = "=".charCodeAt(0);

/** The bytes that base64 text holds. Throws a TypeError where it is not base64. */
export function decodeBase64(text: string): Uint8Array {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  if (text.length % 4 !== 0) throw new TypeError("not valid base64: the padding is missing");
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  const signs = text.length - padding;
  let bits = 0;
  let held = 0;
  let place = 0;
  for (let index = 0; index < signs; index++) {
    const code = text.charCodeAt(index);
    const value = code < 256 ? VALUES[code]! : 255;
    if (value === 255) throw new TypeError("not valid base64: a sign that does not belong there");
    bits = ((bits << 6) | value) & 0xffffff;
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes[place++] = bits >> held;
    }
  }
  return bytes;
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
