-- version_1.sql - the database of a server of protocol 1 (tables 8, commit a542f09): one job with files,
-- submitted and not begun. Its uploads are two: a file and a folder. Made with
--     rota submit job.json; sqlite3 server.db .dump
CREATE TABLE sched_body(id INTEGER PRIMARY KEY, frame BLOB NOT NULL);
INSERT INTO "sched_body" VALUES(4294967297,X'86000000020000000000000000000000000000000000000000000000000000000005000000706C61696E0002000000040000006563686F0005000000706C61696E00000000000E0000002F6465762F73686D2F6D6B6F6C640000000000000000000000000000404B4C000000000001000000000000000000000000000000080000000000000000000000');
INSERT INTO "sched_body" VALUES(4294967298,X'1B0100000200000000000000000000000000000000000000000000000000000000040000006D6164650003000000070000002F62696E2F736800020000002D63001700000063617420696E70757420747265652F6C656166203E206F0000000000000000000000000000000000000000000000404B4C0000000000010000000000000000000000000000000200000002000000010000000000000005000000696E70757400000000000079D2CD33EFD4CD95010000000000000000000000000000000200000000000000040000007472656500000000000079D2CD33EFD4CD9502000000000000000000000000000000010000000100000000000000010000006F00000000000079D2CD33EFD4CD9501000000020000000000000000000000');
INSERT INTO "sched_body" VALUES(4294967299,X'9D0000000200000000000000000000000000000000000000000000000000000000040000007265616400020000000300000063617400010000006F0000000000000000000000000000000000000000000000404B4C00000000000100000000000000000000000000000002000000010000000100000000000000010000006F00000000000079D2CD33EFD4CD950100000002000000000000000000000000000000');
CREATE TABLE sched_bundle(id INTEGER PRIMARY KEY);
CREATE TABLE sched_calendar(id INTEGER PRIMARY KEY, run_days TEXT, start_times TEXT, run_window TEXT, start_mins TEXT, cron TEXT, zone TEXT, overlap TEXT, last_fired INTEGER);
CREATE TABLE sched_define(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, definition TEXT NOT NULL, settled INTEGER, remembered INTEGER);
CREATE TABLE sched_event(sequence INTEGER PRIMARY KEY, at INTEGER, lines TEXT, counter INTEGER, turn INTEGER, random INTEGER, plans INTEGER, plan_end INTEGER, plan_took INTEGER, jobs INTEGER, waits INTEGER, plan_due INTEGER, ends INTEGER);
INSERT INTO "sched_event" VALUES(1,1794975696104907,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0);
INSERT INTO "sched_event" VALUES(2,1794975697254174,'job 1 LAST
job 1 gets 3 from 1
',1,9,1,1,1794975697254174,0,2,1,0,0);
CREATE TABLE sched_graph(job INTEGER PRIMARY KEY, state TEXT NOT NULL, policy TEXT NOT NULL, on_failure TEXT NOT NULL, client INTEGER, key INTEGER, failed_task INTEGER);
INSERT INTO "sched_graph" VALUES(1,'LAST','plan','block',1,0,0);
CREATE TABLE sched_lane(lane INTEGER PRIMARY KEY, flags INTEGER, patience INTEGER);
CREATE TABLE sched_name(kind TEXT, number INTEGER, name TEXT NOT NULL, PRIMARY KEY (kind, number)) WITHOUT ROWID;
CREATE TABLE sched_object(object TEXT PRIMARY KEY, job INTEGER NOT NULL, flags INTEGER, bytes INTEGER) WITHOUT ROWID;
INSERT INTO "sched_object" VALUES('95cdd4ef33cdd279-1',1,1280,6);
INSERT INTO "sched_object" VALUES('95cdd4ef33cdd279-2',1,1280,5);
INSERT INTO "sched_object" VALUES('95cdd4ef33cdd279-200000001',1,0,0);
CREATE TABLE sched_refusal(number INTEGER PRIMARY KEY, request BLOB NOT NULL UNIQUE, body_hash INTEGER, answer TEXT, refusal INTEGER, turn INTEGER, done INTEGER);
CREATE TABLE sched_replica(object TEXT, worker INTEGER, flags INTEGER, bytes INTEGER, PRIMARY KEY (object, worker)) WITHOUT ROWID;
CREATE TABLE sched_request(request BLOB PRIMARY KEY, body_hash INTEGER, answer TEXT, turn INTEGER, done INTEGER) WITHOUT ROWID;
INSERT INTO "sched_request" VALUES(X'AACBB908D3AC9E75D319743B3C7853E0',-8917965669835173462,'job 1 from 1',2,1794975697254174);
INSERT INTO "sched_request" VALUES(X'FFFFFFFFFFFFFFFF0101010101010101',0,'0000000000000661',1,1794975696104907);
INSERT INTO "sched_request" VALUES(X'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF',0,'4bee9df0202034a3',1,1794975696104907);
CREATE TABLE sched_run(id INTEGER, attempt INTEGER, worker INTEGER, handler INTEGER, started INTEGER, seq INTEGER, ended INTEGER, result TEXT, result_exit INTEGER, "end" TEXT, end_status INTEGER, reason TEXT, ran_from INTEGER, ran_to INTEGER, user_us INTEGER, system_us INTEGER, memory_bytes INTEGER, log_bytes INTEGER, end_flags INTEGER, log_worker INTEGER, PRIMARY KEY (id, attempt)) WITHOUT ROWID;
CREATE TABLE sched_state(id INTEGER PRIMARY KEY, status TEXT, attempt INTEGER, tries INTEGER, outcome TEXT, exit INTEGER, flags INTEGER, phase INTEGER, asked INTEGER, since INTEGER, worker INTEGER, handler INTEGER, run_as INTEGER, started INTEGER, seq INTEGER, ended INTEGER, result TEXT, result_exit INTEGER, "end" TEXT, end_status INTEGER, reason TEXT, ran_from INTEGER, ran_to INTEGER, user_us INTEGER, system_us INTEGER, memory_bytes INTEGER, log_bytes INTEGER, end_flags INTEGER, log_worker INTEGER, room BLOB);
CREATE TABLE sched_submit(job INTEGER, sequence INTEGER, first INTEGER NOT NULL, tasks INTEGER NOT NULL, grows INTEGER, client INTEGER, key INTEGER, policy TEXT, on_failure TEXT, last INTEGER, uploads TEXT, edge_order TEXT, input_order TEXT, output_order TEXT, PRIMARY KEY (job, sequence)) WITHOUT ROWID;
INSERT INTO "sched_submit" VALUES(1,1,1,3,0,1,0,NULL,NULL,1,'95cdd4ef33cdd279-1:6 95cdd4ef33cdd279-2:5',NULL,NULL,NULL);
CREATE TABLE sched_task(id INTEGER PRIMARY KEY, name TEXT, kind TEXT NOT NULL, command TEXT, condition TEXT, needs TEXT, parent INTEGER, machine INTEGER, priority INTEGER, lane INTEGER, grp INTEGER, access TEXT, cores INTEGER, memory_mib INTEGER, retries INTEGER, estimate INTEGER, key TEXT, body INTEGER, on_demand INTEGER, inputs TEXT, outputs TEXT, details TEXT, status TEXT);
INSERT INTO "sched_task" VALUES(4294967297,'plain','callable','echo plain',NULL,'2',0,0,0,0,0,NULL,1,0,5,0,NULL,1,0,NULL,NULL,NULL,'WAITING');
INSERT INTO "sched_task" VALUES(4294967298,'made','callable','cat input tree/leaf > o',NULL,NULL,0,0,0,0,0,NULL,1,0,5,0,NULL,2,0,'95cdd4ef33cdd279-1 95cdd4ef33cdd279-2','95cdd4ef33cdd279-200000001:0','in-file input
in-file tree
out o
','OFFERED');
INSERT INTO "sched_task" VALUES(4294967299,'read','callable','cat o',NULL,'2',0,0,0,0,0,NULL,1,0,7,0,NULL,3,0,'95cdd4ef33cdd279-200000001',NULL,'in o
','WAITING');
CREATE TABLE sched_wait_for(wait INTEGER, place INTEGER, client INTEGER, task INTEGER, object TEXT, mode TEXT, PRIMARY KEY (wait, place)) WITHOUT ROWID;
CREATE TABLE sched_worker(worker INTEGER PRIMARY KEY, cores INTEGER, memory_mib INTEGER, slots INTEGER, machine INTEGER, asks INTEGER, joined INTEGER, silent_since INTEGER);
CREATE INDEX sched_object_job ON sched_object(job);
CREATE VIEW sched_core(counter, turn, random, plans, plan_end, plan_took, jobs, waits, plan_due) AS SELECT counter, turn, random, plans, plan_end, plan_took, jobs, waits, plan_due FROM sched_event WHERE sequence = (SELECT max(sequence) FROM sched_event) AND counter IS NOT NULL;
CREATE VIEW sched_live AS SELECT t.id, coalesce(s.status, t.status) AS status, attempt, tries, outcome, exit, flags, phase, asked, since FROM sched_graph g CROSS JOIN sched_task t LEFT JOIN sched_state s ON s.id = t.id WHERE t.id BETWEEN g.job << 32 AND (g.job << 32) + 4294967295 AND kind = 'callable';
CREATE VIEW sched_queue AS SELECT * FROM sched_live WHERE status IN ('STAGED', 'QUEUED');
CREATE VIEW sched_wait AS SELECT * FROM sched_live WHERE status IN ('WAITING', 'BLOCKED');
CREATE VIEW sched_ready AS SELECT * FROM sched_live WHERE status IN ('READY', 'HELD', 'OFFERED', 'SHARED');
CREATE VIEW sched_unstage AS SELECT * FROM sched_live WHERE 0;
CREATE VIEW sched_exec AS SELECT id, status, attempt, tries, outcome, exit, flags, phase, asked, since, worker, handler, run_as, started FROM sched_graph g CROSS JOIN sched_state WHERE id BETWEEN g.job << 32 AND (g.job << 32) + 4294967295 AND status IN ('ASSIGNED', 'RUNNING') AND worker IS NOT NULL;
CREATE VIEW sched_stage AS SELECT id, id >> 32 AS job, id & 4294967295 AS task, status FROM sched_live WHERE status IN ('STAGED', 'QUEUED', 'WAITING', 'BLOCKED', 'READY', 'HELD', 'OFFERED', 'SHARED', 'ASSIGNED', 'RUNNING') UNION ALL SELECT id, id >> 32 AS job, id & 4294967295 AS task, 'RUNNING' FROM sched_bundle;
CREATE VIEW sched_status AS SELECT t.id, t.id >> 32 AS job, t.id & 4294967295 AS task, name, coalesce(s.status, t.status) AS status FROM sched_task t LEFT JOIN sched_state s ON s.id = t.id;
CREATE VIEW sched_job AS SELECT t.id, t.id >> 32 AS job, t.id & 4294967295 AS task, name, kind, command, condition, needs, parent, machine, priority, lane, grp, access, cores, memory_mib, retries, estimate, key, body, on_demand, inputs, outputs, iif(kind = 'callable' AND coalesce(s.status, t.status) IN ('STAGED', 'QUEUED', 'WAITING', 'BLOCKED', 'READY', 'HELD', 'OFFERED', 'SHARED', 'ASSIGNED', 'RUNNING'), 'STAGED', coalesce(s.status, t.status)) AS status, attempt, tries, outcome, exit, flags, phase, asked, since, details FROM sched_task t LEFT JOIN sched_state s ON s.id = t.id;
CREATE VIEW sched_history AS SELECT seq, id, id >> 32 AS job, id & 4294967295 AS task, attempt, worker, handler, result AS status, result_exit AS exit, started, ended FROM sched_state WHERE seq IS NOT NULL UNION ALL SELECT seq, id, id >> 32 AS job, id & 4294967295 AS task, attempt, worker, handler, result AS status, result_exit AS exit, started, ended FROM sched_run;
CREATE VIEW sched_attempt AS SELECT id, attempt, "end", end_status AS status, reason, ran_from AS began, ran_to AS ended, user_us, system_us, memory_bytes, log_bytes, end_flags AS flags, log_worker AS worker FROM sched_state WHERE "end" IS NOT NULL UNION ALL SELECT id, attempt, "end", end_status AS status, reason, ran_from AS began, ran_to AS ended, user_us, system_us, memory_bytes, log_bytes, end_flags AS flags, log_worker AS worker FROM sched_run WHERE "end" IS NOT NULL;
PRAGMA application_id = 1919906913;
PRAGMA user_version = 8;
