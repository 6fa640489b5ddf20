/**
 * `npm run test:debian`, as root: the recipes of docs/operating.md, line by line, in an empty Debian that debootstrap makes. Every
 * line of the blocks of commands is run as an administrator types it, in a system of its own (namespaces of mounts, processes
 * and network). There is no booted systemd in it: the file `systemctl` beside this one does what the unit says.
 */
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  mkdtempSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import path from 'node:path'

const SUITE = 'bookworm'
const MIRROR = 'http://deb.debian.org/debian'
const HERE = import.meta.dirname
const TREE = path.resolve(HERE, '../..')
const CACHE = path.join(process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'), 'gateway')
const BASE = path.join(CACHE, `debian-${SUITE}`)
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt'
const KEY = 'sk-0123456789abcdef'
const STEP_MS = 900_000
const SECTIONS = ['Install', 'Upgrade', 'Back up and restore']

/** What the administrator does in the editor that a recipe opens. */
const EDITOR = `#!/bin/sh
case $1 in
  *environment*) sed -i 's,^UPSTREAM_KEY=.*,UPSTREAM_KEY=simulated,' "$1" ;;
  *catalog*) printf 'keys:\\n  - { account: demo, name: first, secret: ${KEY} }\\n' >> "$1" ;;
esac
`

/** One request, and the address that says whether requests can be served. Ends with 0 when both are well. */
const ASK = `
const ready = async () => (await fetch('http://127.0.0.1:3002/readyz').catch(() => null))?.status === 200
for (let i = 0; i < 300 && !(await ready()); i++) await new Promise(resolve => setTimeout(resolve, 100))
const answer = await fetch('http://127.0.0.1:3000/v1/chat/completions', {
  method: 'POST',
  headers: { authorization: 'Bearer ${KEY}', 'content-type': 'application/json' },
  body: JSON.stringify({ model: 'beta-4.7', messages: [{ role: 'user', content: 'Hello!' }] }),
})
console.log(answer.status, (await answer.text()).slice(0, 200))
process.exit(answer.status === 200 ? 0 : 1)
`

/** The lines of the blocks of commands in a section, without their comments, and the commands that its text names. */
function recipeOf(section: string): string[] {
  const page = readFileSync(path.join(TREE, 'docs/operating.md'), 'utf8')
  const text = page.split(/^## /m).find(part => part.startsWith(`${section}\n`)) ?? ''
  const lines = [...text.matchAll(/^```sh\n([\s\S]*?)^```$|`(sudo gateway [a-z][^`]*)`/gm)].flatMap(
    ([, block, said]) => (block === undefined ? [said as string] : block.split('\n')),
  )
  return lines.map(line => line.replace(/\s+#.*$/, '')).filter(line => line !== '')
}

function makeBase(): void {
  if (existsSync(BASE)) return
  rmSync(`${BASE}.new`, { recursive: true, force: true })
  mkdirSync(CACHE, { recursive: true })
  const words = ['--variant=minbase', '--include=ca-certificates,sudo', SUITE, `${BASE}.new`, MIRROR]
  execFileSync('debootstrap', words, { stdio: ['ignore', 'ignore', 'inherit'] })
  renameSync(`${BASE}.new`, BASE)
}

/** The system in `root`, with an administrator who has a checkout of the tree. */
function furnish(root: string): void {
  execFileSync('cp', ['-a', '--reflink=auto', `${BASE}/.`, root])
  for (const file of ['/etc/resolv.conf', '/etc/hosts', CERTIFICATES])
    if (existsSync(file)) copyFileSync(file, root + file)
  execFileSync('chroot', [root, 'useradd', '--create-home', '--shell', '/bin/bash', 'admin'])
  writeFileSync(`${root}/etc/sudoers.d/admin`, 'admin ALL=(ALL) NOPASSWD: ALL\n', { mode: 0o440 })
  // the disk of a system that is thrown away need not be waited for
  writeFileSync(`${root}/etc/dpkg/dpkg.cfg.d/fast`, 'force-unsafe-io\n')
  writeFileSync(`${root}/usr/local/bin/edit`, EDITOR, { mode: 0o755 })
  copyFileSync(path.join(HERE, 'systemctl'), `${root}/usr/local/bin/systemctl`)
  const checkout = `${root}/home/admin/gateway`
  mkdirSync(checkout)
  execFileSync('sh', ['-c', 'git ls-files -z | tar -c --null -T - | tar -x -C "$1"', 'sh', checkout], { cwd: TREE })
  writeFileSync(`${root}/home/admin/ask.mjs`, ASK)
  execFileSync('chroot', [root, 'chown', '-R', 'admin:admin', '/home/admin'])
  execFileSync('chroot', [root, 'apt-get', 'update', '-qq'], { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** A process that holds the namespaces; when it ends, so do all processes in them. As the first of them it buries the others. */
async function hold(root: string): Promise<{ pid: number; end(): void }> {
  const caches = ['apt', 'npm'].map(name => path.join(CACHE, `debian-${name}`))
  for (const folder of caches) mkdirSync(folder, { recursive: true })
  mkdirSync(`${root}/home/admin/.npm`)
  const [apt, npm] = caches
  const script = `ip link set lo up && mount -t proc proc ${root}/proc && mount --rbind /dev ${root}/dev &&
    mount --bind ${apt} ${root}/var/cache/apt/archives && mount --bind ${npm} ${root}/home/admin/.npm &&
    chroot ${root} chown -R admin /home/admin/.npm && echo held && while :; do sleep 1; done`
  const words = ['--net', '--pid', '--fork', '--kill-child', '--mount', 'bash', '-c', script]
  const holder = spawn('unshare', words, { stdio: ['ignore', 'pipe', 'inherit'] })
  const [said] = (await Promise.race([once(holder.stdout, 'data'), once(holder, 'exit')])) as [unknown]
  if (!String(said).startsWith('held')) throw new Error('no namespaces can be made here')
  const children = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, 'utf8')
  const pid = Number(children.trim())
  return { pid, end: () => void process.kill(pid, 'SIGKILL') }
}

const ENVIRONMENT = [
  'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  'HOME=/home/admin',
  'SUDO_EDITOR=/usr/local/bin/edit',
  'DEBIAN_FRONTEND=noninteractive',
  `NODE_EXTRA_CA_CERTS=${CERTIFICATES}`,
  `npm_config_cafile=${CERTIFICATES}`,
]

/** What fetches packages has the network of this machine; everything else has one of its own, whose ports are all free. */
const FETCHES = /\b(?:apt-get|npm|npx)\b/

/** Runs a line as the administrator, in the checkout. Returns what it printed, or throws. */
function run(root: string, pid: number, line: string): string {
  const spaces = ['-t', String(pid), '-m', '-p', ...(FETCHES.test(line) ? [] : ['-n'])]
  const shell = ['env', '-i', ...ENVIRONMENT, 'bash', '-c', `cd ~/gateway && ${line}`]
  const words = [...spaces, 'chroot', '--userspec=admin:admin', root, ...shell]
  const { status, stdout, stderr } = spawnSync('nsenter', words, { encoding: 'utf8', timeout: STEP_MS })
  if (status !== 0) throw new Error(`${line}: exit ${status}\n${stdout}${stderr}`)
  return stdout + stderr
}

const NODE = 'node_modules/node/bin/node'

async function main(): Promise<void> {
  if (process.getuid?.() !== 0) throw new Error('it makes a Debian of its own: run it as root')
  makeBase()
  const root = mkdtempSync(path.join(tmpdir(), 'gateway-debian-'))
  furnish(root)
  const held = await hold(root)
  let count = 0
  const step = (line: string, wanted = /^/) => {
    const beganMs = Date.now()
    const said = run(root, held.pid, line)
    if (!wanted.test(said)) throw new Error(`${line}: expected ${wanted}, found ${said}`)
    console.log(`ok ${++count} ${((Date.now() - beganMs) / 1000).toFixed(1).padStart(6)} s  ${line}`)
  }
  try {
    for (const section of SECTIONS) {
      console.log(`# ${section}`)
      for (const line of recipeOf(section)) {
        step(line)
        if (line.includes('npm') && line.endsWith(' ci') && count < 5)
          step(`(setsid ${NODE} --disable-warning=ExperimentalWarning lib/cli.ts simulate > ~/simulator.log 2>&1 &)`)
        if (/systemctl .*(?:start|now|reload)/.test(line)) step(`${NODE} ~/ask.mjs`, /^200 /)
      }
    }
    step('sudo gateway accounts list', /^demo\t/)
    // the charge of the last second before the copy may have been in the journal, and is lost with the store that was replaced
    step('sudo gateway usage --by model --json', /"requests":[23],/)
  } catch (error) {
    console.error(`not ok ${(error as Error).message}`)
    const log = spawnSync('tail', ['-n', '20', `${root}/var/log/gateway.log`], { encoding: 'utf8' })
    console.error(log.stdout)
    process.exitCode = 1
  } finally {
    held.end()
    await new Promise(resolve => setTimeout(resolve, 1_000))
    rmSync(root, { recursive: true, force: true })
  }
}

await main()
