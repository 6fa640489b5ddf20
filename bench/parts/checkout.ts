/** Checks out another revision of the gateway into a temporary folder, which uses the packages of this checkout. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ROOT } from './subjects.ts'

const MOST_BYTES = 1 << 28

const git = (args: string[]): Buffer =>
  execFileSync('git', ['-C', ROOT, ...args], { stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: MOST_BYTES })

/** Throws with the message of git when the revision does not exist. */
export function checkOut(revision: string): { root: string; remove(): void } {
  const files = git(['archive', revision])
  const root = mkdtempSync(path.join(tmpdir(), 'bench-'))
  execFileSync('tar', ['-x', '-C', root], { input: files })
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(root, 'node_modules'))
  return { root, remove: () => rmSync(root, { recursive: true, force: true }) }
}

/**
 * The revision to compare the working tree with: the last commit, or the one before it when nothing has changed since.
 */
export const lastRevision = (): string =>
  git(['status', '--porcelain', '--untracked-files=no']).length === 0 ? 'HEAD~1' : 'HEAD'
