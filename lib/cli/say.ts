/** What a command has to say: data goes to standard output, so that programs can read it, and all other talk to standard error. */
import { once } from 'node:events'

export interface Said {
  data: string
  talk: readonly string[]
}

export function say({ data, talk }: Said): void {
  process.stdout.write(data)
  for (const line of talk) console.error(line)
}

/** What may be long goes out as fast as it is taken. */
export async function writeAll(pieces: AsyncIterable<Uint8Array | string>, out: NodeJS.WritableStream): Promise<void> {
  for await (const piece of pieces) if (!out.write(piece)) await once(out, 'drain')
}
