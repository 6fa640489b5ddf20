/** Rules about the config file: who can reach and guess what, limits that cut honest requests, folders, and the machine. */
import path from 'node:path'
import type { Config, Listener } from '../config/config.ts'
import { whereIs } from './hosts.ts'
import { isBehindProxy } from './key-rules.ts'
import { type Found, inConfig, type Rule } from './rule.ts'
import type { Sight } from './sight.ts'
import { isDefaultToken, isWeakToken } from './words.ts'

const MIB = 2 ** 20
/** Coding tools send whole files and pictures. */
const LEAST_BODY = 8 * MIB
/** Models that think are silent for a minute before they answer. */
const LEAST_WAIT_MS = 60_000
const LEAST_MAIN_MS = 30_000
/** After a minute of silence most proxies close a connection. */
const MOST_SILENCE_MS = 55_000
const LEAST_FILES = 4096
/** A network with more addresses than that is no list of proxies. */
const LEAST_BITS = { ipv4: 8, ipv6: 16 }

const isBeyond = ({ host }: Listener): boolean => whereIs(host) !== 'here'

/** A rule that looks at the config only. */
const ofConfig = (find: (config: Config, sight: Sight) => Generator<Found>) =>
  function* (sight: Sight): Generator<Found> {
    if (sight.seen.config !== null) yield* find(sight.seen.config, sight)
  }

const HIDDEN = { hidden: true }

export const CONFIG_RULES: Rule[] = [
  {
    name: 'default_token',
    severity: 'refused',
    about: 'An `admin_token` that everybody tries first, on a listener beyond this machine.',
    find: ofConfig(function* ({ adminToken, listen }) {
      if (adminToken !== null && isBeyond(listen.ops) && isDefaultToken(adminToken))
        yield inConfig(
          ['admin_token'],
          'a random token: strangers try this one, and listen.ops is beyond this machine',
          adminToken,
          HIDDEN,
        )
    }),
  },
  {
    name: 'weak_token',
    severity: 'warned',
    about: 'An `admin_token` or a `secret` that can be guessed.',
    find: ofConfig(function* ({ adminToken, listen, secret, ownSecret }) {
      if (adminToken !== null && isDefaultToken(adminToken)) {
        if (!isBeyond(listen.ops))
          yield inConfig(['admin_token'], 'a random token: everybody tries this one first', adminToken, HIDDEN)
      } else if (adminToken !== null && isWeakToken(adminToken))
        yield inConfig(['admin_token'], 'a random token of at least 12 characters', adminToken, HIDDEN)
      if (ownSecret && (isDefaultToken(secret) || isWeakToken(secret)))
        yield inConfig(
          ['secret'],
          'a random secret of at least 12 characters: the keys of all upstreams are sealed with it',
          secret,
          HIDDEN,
        )
    }),
  },
  {
    name: 'same_secret',
    severity: 'warned',
    about: 'A `secret` that is the `admin_token`, or the one before it.',
    find: ofConfig(function* ({ adminToken, secret, ownSecret, secretPrevious }) {
      if (ownSecret && secret === adminToken)
        yield inConfig(['secret'], 'another text than admin_token, which more people know', secret, HIDDEN)
      if (secretPrevious !== null && secretPrevious === secret)
        yield inConfig(['secret_previous'], 'the secret before this one, or nothing', secretPrevious, HIDDEN)
    }),
  },
  {
    name: 'ops_exposed',
    severity: 'warned',
    about: 'The operators’ listener on an address beyond this machine.',
    find: ofConfig(function* ({ listen: { ops } }) {
      if (isBeyond(ops))
        yield inConfig(
          ['listen', 'ops'],
          'an address of this machine like 127.0.0.1: whoever reaches it can try tokens, and read metrics without one',
          ops,
        )
    }),
  },
  {
    name: 'catch_all_proxies',
    severity: 'warned',
    about: 'Proxies that are whole continents of addresses, so that every client can say which address it has.',
    find: ofConfig(function* ({ trustedProxies }) {
      for (const [i, network] of trustedProxies.entries()) {
        const [address, bits] = network.split('/') as [string, string?]
        const isWide = bits !== undefined && Number(bits) < LEAST_BITS[address.includes(':') ? 'ipv6' : 'ipv4']
        if (isWide)
          yield inConfig(
            ['trusted_proxies', i],
            'the addresses of your proxies: with these every client chooses the address that limits and logs see',
            network,
          )
      }
    }),
  },
  {
    name: 'proxy_not_trusted',
    severity: 'warned',
    about:
      '`public.main` is https, so a proxy stands in front, and `trusted_proxies` is empty: all clients have the address of the proxy.',
    find: ofConfig(function* (config) {
      if (isBehindProxy(config) && config.trustedProxies.length === 0)
        yield inConfig(
          ['trusted_proxies'],
          'the address of what speaks TLS in front of the gateway: without it all clients have one address',
          null,
        )
    }),
  },
  {
    name: 'public_http',
    severity: 'warned',
    about: 'Clients reach the gateway over the internet without encryption.',
    find: ofConfig(function* ({ public: { main, direct } }) {
      for (const [name, url] of Object.entries({ main, direct })) {
        const { protocol, hostname } = new URL(url)
        // a listener on every address is shown as localhost
        if (protocol === 'http:' && whereIs(hostname) === 'public')
          yield inConfig(['public', name], 'an https:// address: everybody on the way can read keys and answers', url)
      }
    }),
  },
  {
    name: 'short_waits',
    severity: 'warned',
    about: 'Time-outs that end honest requests.',
    find: ofConfig(function* ({ timeouts: { firstByteMs, idleMs, mainMs } }) {
      if (firstByteMs < LEAST_WAIT_MS)
        yield inConfig(['timeouts', 'first_byte'], 'at least 60s: models that think take longer than this', firstByteMs)
      if (idleMs < LEAST_WAIT_MS)
        yield inConfig(['timeouts', 'idle'], 'at least 60s: models pause for longer than this', idleMs)
      if (mainMs > 0 && mainMs < LEAST_MAIN_MS)
        yield inConfig(['timeouts', 'main'], 'at least 30s, or 0s: whole answers take longer than this', mainMs)
    }),
  },
  {
    name: 'long_silence',
    severity: 'warned',
    about: 'Streams that are silent for so long that proxies on the way close them.',
    find: ofConfig(function* ({ keepalive: { mainMs } }) {
      if (mainMs === 0 || mainMs > MOST_SILENCE_MS)
        yield inConfig(
          ['keepalive', 'main'],
          'at most 55s: proxies close a connection on which nothing has come for a minute',
          mainMs,
        )
    }),
  },
  {
    name: 'small_body',
    severity: 'warned',
    about: 'A limit of request bodies below what coding tools send.',
    find: ofConfig(function* ({ limits: { bodyBytes } }) {
      if (bodyBytes < LEAST_BODY)
        yield inConfig(['limits', 'body'], 'at least 8MiB: coding tools send whole files and pictures', bodyBytes)
    }),
  },
  {
    name: 'books_in_memory',
    severity: 'warned',
    about: 'A store that is gone when the process ends.',
    find: ofConfig(function* ({ store }) {
      if (store === 'sqlite::memory:')
        yield inConfig(['store'], 'a file: every balance is gone when the process ends', store)
    }),
  },
  {
    name: 'folder_missing',
    severity: 'warned',
    about:
      'Of the folders of the store and of the journal one is there and the other is not: a slip, or a disk that is not mounted.',
    find: ofConfig(function* ({ store, journal }, { seen: { machine } }) {
      const file = /^sqlite:(.+)$/.exec(store)?.[1]
      if (machine === null || file === undefined || file === ':memory:') return
      const folders = { store: path.dirname(path.resolve(file)), journal: path.dirname(path.resolve(journal)) }
      const there = { store: machine.isFolder(folders.store), journal: machine.isFolder(folders.journal) }
      if (there.store === there.journal) return
      const missing = there.store ? 'journal' : 'store'
      yield inConfig(
        [missing],
        `a place in a folder that exists: ${folders[missing]} does not, and ${folders[there.store ? 'store' : 'journal']} does`,
        folders,
      )
    }),
  },
  {
    name: 'many_workers',
    severity: 'warned',
    about: 'More than twice as many workers as the machine has cores.',
    find: ofConfig(function* ({ workers }, { seen: { machine } }) {
      if (machine !== null && workers > 2 && workers > 2 * machine.cores)
        yield inConfig(['workers'], `at most ${2 * machine.cores}, twice the cores of this machine`, workers)
    }),
  },
  {
    name: 'few_files',
    severity: 'warned',
    about: `A limit of open files below ${LEAST_FILES}: each stream needs two.`,
    find: ofConfig(function* (_, { seen: { machine } }) {
      if (machine !== null && machine.openFiles !== null && machine.openFiles < LEAST_FILES)
        yield inConfig(
          [],
          `a limit of open files of at least ${LEAST_FILES} (ulimit -n; found ${machine.openFiles}): each stream needs two`,
          machine.openFiles,
        )
    }),
  },
]
