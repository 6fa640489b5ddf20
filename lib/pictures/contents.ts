/** What stands in the folder of kept pictures. */
import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { type Named, onDisk, readFile } from './names.ts'

export interface Unfinished {
  file: string
  bytes: number
  /** When something was last written to it, in ms since 1970. */
  writtenMs: number
}

export interface Contents {
  pictures: Named[]
  unfinished: Unfinished[]
  /** All of them together, as they lie on the disk. */
  bytes: number
}

/** An empty list where there is no such folder. Throws when it cannot be read. */
export async function contentsOf(folder: string): Promise<Contents> {
  const pictures: Named[] = []
  const unfinished: Unfinished[] = []
  let bytes = 0
  for (const file of await filesOf(folder)) {
    const found = readFile(file)
    if (found === null) continue
    const one = found === true ? await unfinishedOf(path.join(folder, file)) : null
    if (one !== null) unfinished.push(one)
    else if (found !== true) pictures.push(found)
    else continue
    bytes += onDisk(one?.bytes ?? (found as Named).bytes)
  }
  return { pictures, unfinished, bytes }
}

async function filesOf(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** null = it is gone meanwhile. */
async function unfinishedOf(file: string): Promise<Unfinished | null> {
  try {
    const { size, mtimeMs } = await stat(file)
    return { file, bytes: size, writtenMs: mtimeMs }
  } catch {
    return null
  }
}
