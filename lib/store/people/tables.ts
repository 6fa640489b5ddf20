/** The tables of users: who they are, what they are in accounts, and how they are signed in. Secrets are hashed or sealed. */
import type { Table } from '../base/tables.ts'

const USERS: Table = {
  name: 'users',
  columns: {
    id: 'auto',
    public_id: 'code',
    // in its canonical form
    email: 'name',
    name: 'name',
    // a PHC string; null = this user signs in another way, or has not chosen one yet
    password: 'name?',
    // the secret of the second factor in force, sealed, and that of one that is not confirmed yet
    totp: 'doc?',
    totp_next: 'doc?',
    // the latest step of which a code was used
    totp_step: 'int?',
    status: 'code',
    operator: 'int',
    language: 'code?',
    theme: 'code?',
    notices: 'doc',
    created_at_ms: 'int',
  },
  key: ['id'],
  unique: [['public_id'], ['email']],
}

/** Codes that stand in for a second factor, each once: the row of a used code is deleted. */
const RECOVERY_CODES: Table = {
  name: 'recovery_codes',
  columns: { user_id: 'int', hash: 'code' },
  key: ['user_id', 'hash'],
}

/** The public keys of passkeys. The hash is that of the credential's id, which is longer than an index takes. alone: see `Passkey`. */
const PASSKEYS: Table = {
  name: 'passkeys',
  columns: {
    id: 'auto',
    public_id: 'code',
    user_id: 'int',
    hash: 'code',
    credential: 'doc',
    public_key: 'doc',
    counter: 'int',
    transports: 'doc',
    name: 'name',
    synced: 'int',
    alone: 'int',
    created_at_ms: 'int',
    used_at_ms: 'int?',
  },
  key: ['id'],
  unique: [['hash'], ['public_id']],
  index: [['user_id', 'id']],
}

const MEMBERS: Table = {
  name: 'members',
  columns: { user_id: 'int', account_id: 'int', role: 'code', created_at_ms: 'int' },
  key: ['user_id', 'account_id'],
  index: [['account_id', 'user_id']],
}

/** Everything that is handed out as a secret and works once: invitations, resets, proofs of an e-mail, half sign-ins, answers of passkeys. */
const LINKS: Table = {
  name: 'people_links',
  columns: {
    id: 'auto',
    public_id: 'code',
    kind: 'code',
    hash: 'code',
    email: 'name?',
    user_id: 'int?',
    account_id: 'int?',
    role: 'code?',
    operator: 'int',
    doc: 'doc?',
    created_at_ms: 'int',
    expires_at_ms: 'int',
    used_at_ms: 'int?',
  },
  key: ['id'],
  unique: [['hash'], ['public_id']],
  index: [['kind', 'account_id', 'id'], ['user_id'], ['expires_at_ms']],
}

const SESSIONS: Table = {
  name: 'sessions',
  columns: {
    id: 'auto',
    public_id: 'code',
    hash: 'code',
    user_id: 'int',
    created_at_ms: 'int',
    // written at most once a minute
    seen_at_ms: 'int',
    proven_at_ms: 'int?',
    ip: 'code',
    agent: 'name',
  },
  key: ['id'],
  unique: [['hash'], ['public_id']],
  index: [['user_id', 'id'], ['seen_at_ms']],
}

/** Browsers from which a user has signed in. */
const DEVICES: Table = {
  name: 'devices',
  columns: { hash: 'code', user_id: 'int', seen_at_ms: 'int' },
  key: ['hash'],
  index: [['user_id', 'seen_at_ms'], ['seen_at_ms']],
}

const PERSONAL_TOKENS: Table = {
  name: 'personal_tokens',
  columns: {
    id: 'auto',
    public_id: 'code',
    hash: 'code',
    hint: 'name',
    user_id: 'int',
    name: 'name',
    scope: 'code',
    allow_ips: 'doc?',
    created_at_ms: 'int',
    expires_at_ms: 'int',
    used_at_ms: 'int?',
  },
  key: ['id'],
  unique: [['hash'], ['public_id']],
  index: [['user_id', 'id']],
}

/** Tries that failed, by what they were made with: an IP, an e-mail, both, a device, a user. Ids are hashes. */
const THROTTLES: Table = {
  name: 'throttles',
  columns: { id: 'code', failures: 'int', last_ms: 'int', until_ms: 'int' },
  key: ['id'],
  index: [['last_ms']],
}

/** What a user is called by OpenID providers. The id is a hash of issuer and subject. */
const IDENTITIES: Table = {
  name: 'identities',
  columns: { id: 'code', issuer: 'name', user_id: 'int', created_at_ms: 'int' },
  key: ['id'],
  index: [['user_id']],
}

export const PEOPLE: Table[] = [
  USERS,
  RECOVERY_CODES,
  PASSKEYS,
  MEMBERS,
  LINKS,
  SESSIONS,
  DEVICES,
  PERSONAL_TOKENS,
  THROTTLES,
  IDENTITIES,
]
