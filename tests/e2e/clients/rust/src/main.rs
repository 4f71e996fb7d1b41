// SPDX-License-Identifier: BSD-3-Clause
//! Publishes as rumqttc does: rust-client HOST PORT CLIENT-ID TOPIC... Prints what happens, one line each.

use rumqttc::{Client, Event, MqttOptions, Packet, QoS};
use std::time::Duration;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let mut options = MqttOptions::new(&args[2], &args[0], args[1].parse().unwrap());
    options.set_keep_alive(Duration::from_secs(30));
    let (client, mut connection) = Client::new(options, 10);
    let mut topics = args[3..].iter();
    let mut sent = None;
    for event in connection.iter() {
        match event {
            Ok(Event::Incoming(Packet::ConnAck(_))) => (),
            Ok(Event::Incoming(Packet::PubAck(_))) => println!("acknowledged {}", sent.unwrap()),
            Ok(_) => continue,
            Err(_) => {
                println!("{}", if sent.is_none() { "refused" } else { "lost" });
                break;
            }
        }
        sent = topics.next();
        match sent {
            Some(topic) => client.publish(topic, QoS::AtLeastOnce, false, format!("{} {topic}", args[2])).unwrap(),
            None => break,
        }
    }
    let _ = client.disconnect();
    let _ = connection.recv_timeout(Duration::from_secs(1));
    println!("closed");
}
