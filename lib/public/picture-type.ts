/** What kind of picture a file is, by its first bytes. Nothing else is believed, and least of all what an upstream says. */

/** How many bytes are looked at. */
export const HEAD_BYTES = 12

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const JPEG = Buffer.from([0xff, 0xd8, 0xff])

/** null = none of the kinds that every browser shows and that can hold no script. */
export function pictureType(head: Buffer): string | null {
  if (begins(head, PNG)) return 'image/png'
  if (begins(head, JPEG)) return 'image/jpeg'
  const text = head.toString('latin1')
  if (text.startsWith('GIF87a') || text.startsWith('GIF89a')) return 'image/gif'
  return text.startsWith('RIFF') && text.slice(8, 12) === 'WEBP' ? 'image/webp' : null
}

const begins = (head: Buffer, start: Buffer): boolean => head.subarray(0, start.length).equals(start)
