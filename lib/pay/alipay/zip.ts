/**
 * Reads the files of a ZIP archive that is in memory. The archive's directory says where they stand; sizes in front of each
 * file may be missing. Archives that are larger, encrypted or split are not read.
 */
import { promisify } from 'node:util'
import { crc32, inflateRaw } from 'node:zlib'

const END = 0x06054b50
const END_BYTES = 22
const LONGEST_COMMENT = 0xffff
const ENTRY = 0x02014b50
const ENTRY_BYTES = 46
const FILE = 0x04034b50
const FILE_BYTES = 30
const STORED = 0
const DEFLATED = 8
const ENCRYPTED = 1
const MOST_FILES = 64
const MOST_BYTES = 128 * 2 ** 20

const inflate = promisify(inflateRaw)

/** Throws when the bytes are no such archive. Their contents together have at most 128 MiB. */
export async function* unzip(archive: Buffer): AsyncGenerator<Buffer> {
  let left = MOST_BYTES
  for (const entry of entries(archive)) {
    if (entry.size > left) throw new Error('the files of an archive are too large')
    const file = await contents(archive, entry)
    left -= file.length
    yield file
  }
}

interface Entry {
  method: number
  crc: number
  packed: number
  size: number
  at: number
}

function entries(archive: Buffer): Entry[] {
  const end = endOf(archive)
  const count = archive.readUInt16LE(end + 10)
  if (count > MOST_FILES) throw new Error('an archive has too many files')
  const list: Entry[] = []
  let at = archive.readUInt32LE(end + 16)
  for (let i = 0; i < count; i++) {
    if (archive.readUInt32LE(at) !== ENTRY) throw new Error('the directory of an archive is broken')
    if ((archive.readUInt16LE(at + 8) & ENCRYPTED) !== 0) throw new Error('a file of an archive is encrypted')
    list.push({
      method: archive.readUInt16LE(at + 10),
      crc: archive.readUInt32LE(at + 16),
      packed: archive.readUInt32LE(at + 20),
      size: archive.readUInt32LE(at + 24),
      at: archive.readUInt32LE(at + 42),
    })
    const [name, extra, comment] = [28, 30, 32].map(offset => archive.readUInt16LE(at + offset))
    at += ENTRY_BYTES + name! + extra! + comment!
  }
  return list
}

/** Where the directory's end stands: a comment of any length may follow it. */
function endOf(archive: Buffer): number {
  const first = Math.max(0, archive.length - END_BYTES - LONGEST_COMMENT)
  for (let at = archive.length - END_BYTES; at >= first; at--) if (archive.readUInt32LE(at) === END) return at
  throw new Error('no archive')
}

async function contents(archive: Buffer, { method, crc, packed, size, at }: Entry): Promise<Buffer> {
  if (archive.readUInt32LE(at) !== FILE) throw new Error('a file of an archive is broken')
  const start = at + FILE_BYTES + archive.readUInt16LE(at + 26) + archive.readUInt16LE(at + 28)
  const bytes = archive.subarray(start, start + packed)
  if (method !== STORED && method !== DEFLATED) throw new Error(`an archive is packed by method ${method}`)
  const file = method === STORED ? bytes : await inflate(bytes, { maxOutputLength: Math.max(1, size) })
  if (file.length !== size || crc32(file) !== crc) throw new Error('a file of an archive is damaged')
  return file
}
