/**
 * Runs programs as their readers paste them: whole files, in a folder where the SDKs are installed, without any setting in the
 * environment. Those of one language share a process, one after the other, because starting it takes longer than they do.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'

export type ProgramLanguage = 'js' | 'python' | 'sh'

export interface Ran {
  /** What it printed. */
  said: string
  /** Why it failed; null = it did not. */
  failed: string | null
}

/** Where `.ci/python-sdks` installs them. */
const PYTHON = path.join(
  process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache'),
  'gateway/python-sdks/bin/python',
)

export const PYTHON_MISSING = existsSync(PYTHON)
  ? null
  : 'The Python SDKs are not on this machine, and programs in Python did not run: .ci/python-sdks installs them'

const RUN_JS = `
import { readdirSync } from 'node:fs'
const found = []
const print = console.log
for (const file of readdirSync('.').filter(name => /^\\d+\\.mjs$/.test(name)).sort()) {
  const lines = []
  console.log = (...words) => lines.push(words.join(' '))
  const failed = await import(process.cwd() + '/' + file).then(() => null, error => String(error))
  found.push({ said: lines.join('\\n'), failed })
}
print(JSON.stringify(found))
`

const RUN_PYTHON = `
import contextlib, glob, io, json
found = []
for file in sorted(glob.glob('*.py')):
    said, failed = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(said), open(file) as source:
            exec(compile(source.read(), file, 'exec'), {'__name__': '__main__'})
    except Exception as error:
        failed = repr(error)
    found.append({'said': said.getvalue(), 'failed': failed})
print(json.dumps(found))
`

const RUN_SH = `
for file in *.sh; do
  sh "$file" > "$file.out" 2> "$file.err" && echo ok || echo failed
done
`

/** In their order. */
export async function runPrograms(language: ProgramLanguage, programs: readonly string[]): Promise<Ran[]> {
  const folder = mkdtempSync(path.join(tmpdir(), 'gateway-programs-'))
  const ending = { js: 'mjs', python: 'py', sh: 'sh' }[language]
  try {
    symlinkSync(path.resolve(import.meta.dirname, '../../../node_modules'), path.join(folder, 'node_modules'))
    for (const [i, program] of programs.entries())
      writeFileSync(path.join(folder, `${String(i).padStart(4, '0')}.${ending}`), program)
    if (language === 'python') return JSON.parse(await output(PYTHON, ['-c', RUN_PYTHON], folder)) as Ran[]
    if (language === 'js')
      return JSON.parse(await output(process.execPath, ['--input-type=module', '-e', RUN_JS], folder)) as Ran[]
    const verdicts = (await output('sh', ['-c', RUN_SH], folder)).trim().split('\n')
    const read = (i: number, kind: string) =>
      readFileSync(path.join(folder, `${String(i).padStart(4, '0')}.sh.${kind}`), 'utf8')
    return verdicts.map((verdict, i) => ({ said: read(i, 'out'), failed: verdict === 'ok' ? null : read(i, 'err') }))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Node's own processes must not have the hooks of the test runner. */
async function output(command: string, args: string[], cwd: string): Promise<string> {
  const env = { PATH: process.env['PATH'], HOME: cwd, PYTHONIOENCODING: 'utf-8' }
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, err, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (status !== 0) throw new Error(`${command}: ${err}`)
  return out
}
