-- Version 2 of the schema as MariaDB shows it, whose codes had a character set of their own.
CREATE TABLE `accounts` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `name` varchar(190) NOT NULL,
  `status` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `allowed_groups` mediumtext NOT NULL,
  `rate` mediumtext DEFAULT NULL,
  `archived` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `accounts_by_name` (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE `api_keys` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `account_id` bigint(20) NOT NULL,
  `name` varchar(190) NOT NULL,
  `hash` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `hint` varchar(190) NOT NULL,
  `group_name` varchar(190) NOT NULL,
  `status` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `expires_at_ms` bigint(20) DEFAULT NULL,
  `cap` bigint(20) DEFAULT NULL,
  `allow_ips` mediumtext DEFAULT NULL,
  `models` mediumtext DEFAULT NULL,
  `deleted` bigint(20) NOT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `api_keys_by_hash_deleted` (`hash`,`deleted`),
  UNIQUE KEY `api_keys_by_account_id_name_deleted` (`account_id`,`name`,`deleted`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE `catalog_rows` (
  `kind` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `name` varchar(190) NOT NULL,
  `doc` mediumtext NOT NULL,
  PRIMARY KEY (`kind`,`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE `changes` (
  `seq` bigint(20) NOT NULL,
  `kind` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `ref` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (`seq`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE `holders` (
  `id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `host` varchar(190) NOT NULL,
  `beat` bigint(20) NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE `leases` (
  `purse_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `holder` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `amount` bigint(20) NOT NULL,
  `held` bigint(20) NOT NULL,
  `ticket` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (`purse_id`,`holder`),
  KEY `leases_by_holder` (`holder`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE `meta` (
  `name` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `value` bigint(20) NOT NULL,
  PRIMARY KEY (`name`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE `purses` (
  `id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `credit` bigint(20) DEFAULT NULL,
  `promised` bigint(20) NOT NULL,
  PRIMARY KEY (`id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE `rate_windows` (
  `account_id` bigint(20) NOT NULL,
  `version` bigint(20) NOT NULL,
  `state` mediumtext NOT NULL,
  PRIMARY KEY (`account_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE `topups` (
  `account_id` bigint(20) NOT NULL,
  `reference` varchar(190) NOT NULL,
  `amount` bigint(20) NOT NULL,
  `at_ms` bigint(20) NOT NULL,
  PRIMARY KEY (`account_id`,`reference`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE `usage_rows` (
  `request_id` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `account_id` bigint(20) NOT NULL,
  `key_id` bigint(20) NOT NULL,
  `group_name` varchar(190) NOT NULL,
  `protocol` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `model` varchar(190) NOT NULL,
  `channel` varchar(190) NOT NULL,
  `status` bigint(20) NOT NULL,
  `ended` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `basis` varchar(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `charge` bigint(20) NOT NULL,
  `first_byte_ms` bigint(20) DEFAULT NULL,
  `duration_ms` bigint(20) NOT NULL,
  `input` bigint(20) NOT NULL,
  `cache_read` bigint(20) NOT NULL,
  `cache_write_5m` bigint(20) NOT NULL,
  `cache_write_1h` bigint(20) NOT NULL,
  `output` bigint(20) NOT NULL,
  `images` bigint(20) NOT NULL,
  PRIMARY KEY (`request_id`),
  KEY `usage_rows_by_account_id_request_id_charge` (`account_id`,`request_id`,`charge`),
  KEY `usage_rows_by_key_id_request_id` (`key_id`,`request_id`),
  KEY `usage_rows_by_model_request_id` (`model`,`request_id`),
  KEY `usage_rows_by_account_id_model_request_id` (`account_id`,`model`,`request_id`),
  KEY `usage_rows_by_key_id_model_request_id` (`key_id`,`model`,`request_id`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
INSERT INTO `meta` VALUES ('schema', 2), ('changes', 0), ('prune', 0);
