/** The machine that this process runs on, as the rules of sense see it. */
import { readFileSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import type { Machine } from './sight.ts'

export const thisMachine = (): Machine => ({
  isFolder: path => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false,
  openFiles: openFiles(),
  cores: availableParallelism(),
})

/** Linux says it of each process; where nobody says it, null. */
function openFiles(): number | null {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
    return soft === undefined ? null : Number(soft)
  } catch {
    return null
  }
}
