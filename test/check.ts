/** `npm run check`: format, lint, types and tidy at once, as far as processors allow. Prints what failed, each in one piece, and exits 1. */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { installPackages } from './clients/packages.ts'

const CHECKS = ['format', 'lint', 'types', 'types:web', 'tidy']

const ROOT = path.resolve(import.meta.dirname, '..')
const { scripts } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
  scripts: Record<string, string>
}
/** As npm sets it, whose own start would cost as much as the smaller checks. */
const env = { ...process.env, PATH: `${ROOT}/node_modules/.bin${path.delimiter}${process.env['PATH']}` }

// once, and not by two of the checks at the same time
const why = installPackages()
if (why !== null) console.error(`types of official SDKs are missing: ${why}`)
const results = await Promise.all(
  CHECKS.map(async name => {
    const child = spawn(scripts[name] as string, { shell: true, cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const exited = new Promise<number | null>(resolve => child.on('close', resolve))
    const [said, complained, code] = await Promise.all([text(child.stdout), text(child.stderr), exited])
    return { name, code, said: `${said}${complained}`.trim() }
  }),
)
const failed = results.filter(({ code }) => code !== 0)
for (const { name, said } of failed) console.error(`${name}:\n${said}\n`)
console.error(failed.length === 0 ? 'checked' : `failed: ${failed.map(({ name }) => name).join(', ')}`)
process.exit(failed.length === 0 ? 0 : 1)
