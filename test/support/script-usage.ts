/** A script that is run by hand says how before it does anything. */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

export const runScript = (file: string, word: string) =>
  spawnSync(process.execPath, [file, word], { cwd: ROOT, encoding: 'utf8' })

export const usageOf = (name: string) => new RegExp(`^\`npm (?:run )?${name}[ \`]`, 'm')

/** `name` of package.json, which runs `file`. */
export function wantUsage(t: Test, name: string, file: string): void {
  const wrong = runScript(file, '--no-such')
  t.match(wrong, { status: 2, stdout: '', stderr: /^Unknown option '--no-such'/ })
  t.match(wrong.stderr, usageOf(name))
}
