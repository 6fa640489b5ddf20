/** Archives and tables as Alipay and others write them: ZIP with sizes behind the files, and text in GBK. */
import { crc32, deflateRawSync } from 'node:zlib'

const BOTH = 0x08 // sizes and checksum stand behind the file

/** `files`: name and contents. */
export function zip(files: readonly [name: Buffer, contents: Buffer][]): Buffer {
  const parts: Buffer[] = []
  const directory: Buffer[] = []
  let at = 0
  for (const [name, contents] of files) {
    const packed = deflateRawSync(contents)
    const sums = numbers([4, crc32(contents)], [4, packed.length], [4, contents.length])
    const kind = numbers([2, 20], [2, BOTH], [2, 8], [2, 0], [2, 0])
    const front = Buffer.concat([numbers([4, 0x04034b50]), kind, Buffer.alloc(12), numbers([2, name.length], [2, 0])])
    const file = Buffer.concat([front, name, packed, numbers([4, 0x08074b50]), sums])
    const tail = numbers([2, name.length], [2, 0], [2, 0], [2, 0], [2, 0], [4, 0], [4, at])
    directory.push(Buffer.concat([numbers([4, 0x02014b50], [2, 20]), kind, sums, tail, name]))
    parts.push(file)
    at += file.length
  }
  const list = Buffer.concat(directory)
  const counts = numbers([4, 0x06054b50], [2, 0], [2, 0], [2, files.length], [2, files.length])
  return Buffer.concat([...parts, list, counts, numbers([4, list.length], [4, at], [2, 0])])
}

/** Numbers of so many bytes each, the lowest byte first. */
function numbers(...list: [bytes: number, value: number][]): Buffer {
  return Buffer.concat(
    list.map(([bytes, value]) => {
      const part = Buffer.alloc(bytes)
      part.writeUIntLE(value, 0, bytes)
      return part
    }),
  )
}

let table: Map<string, Buffer> | undefined

/** Text in GBK. Node has a decoder only, so the table is what it makes of every pair of bytes. */
export function gbk(text: string): Buffer {
  if (table === undefined) {
    table = new Map()
    const decoder = new TextDecoder('gbk')
    for (let high = 0x81; high <= 0xfe; high++)
      for (let low = 0x40; low <= 0xfe; low++) {
        const bytes = Buffer.from([high, low])
        const character = decoder.decode(bytes)
        if ([...character].length === 1 && character !== '\ufffd' && !table.has(character)) table.set(character, bytes)
      }
  }
  const known = table
  return Buffer.concat([...text].map(c => (c < '\x80' ? Buffer.from(c) : (known.get(c) ?? Buffer.from('?')))))
}
