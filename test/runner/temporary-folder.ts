/**
 * Where the tests have their files: in memory, where the system lends enough of it. Stores and journals wait for the disk at each commit, and
 * no test takes the power away.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const IN_MEMORY = '/dev/shm'
/** Several times what the tests need at once. */
const LEAST_BYTES = 4 * 2 ** 30

/** Tests run programs that they have written; a folder may be mounted so that nothing in it runs. */
function runsPrograms(folder: string): boolean {
  const program = join(folder, 'program')
  writeFileSync(program, '#!/bin/sh\n')
  chmodSync(program, 0o700)
  const { status } = spawnSync(program)
  rmSync(program)
  return status === 0
}

/** A new folder, which `remove` deletes; null = `parent` is missing, too small, or nothing runs there. */
export function folderInMemory(
  parent = IN_MEMORY,
  leastBytes = LEAST_BYTES,
): { path: string; remove: () => void } | null {
  try {
    const { bavail, bsize } = statfsSync(parent)
    if (bavail * bsize < leastBytes) return null
    const path = mkdtempSync(join(parent, 'gateway-tests-'))
    const remove = () => rmSync(path, { recursive: true, force: true, maxRetries: 3 })
    if (runsPrograms(path)) return { path, remove }
    remove()
  } catch {
    // there is no such folder, or nobody may write there
  }
  return null
}
